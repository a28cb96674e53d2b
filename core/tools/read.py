"""Read a text file, whole or some lines of it."""

import asyncio
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Annotated

from annotated_types import Ge

from core.tools.place import Place
from core.tools.seen import digest
from core.tools.tool import Result, Tool


@dataclass(frozen=True, slots=True)
class Read:
    path: str
    start: Annotated[int, Ge(1)] = 1
    end: Annotated[int, Ge(0)] = 0


async def run(parameters: Read, place: Place) -> Result:
    return await asyncio.to_thread(_read, parameters, place)


def _read(parameters: Read, place: Place) -> Result:
    body = place.broker.read(parameters.path)
    if b"\0" in body[:8192]:
        return Result(f"{parameters.path} is no text file ({len(body):,} bytes).", failed=True)
    seen = ((parameters.path, digest(body)),)
    # Only the lines that are wanted become text: long runs read long files in small pieces.
    wanted = b"".join(islice(BytesIO(body), parameters.start - 1, parameters.end or None))
    if not wanted and parameters.start > 1 and (not parameters.end or parameters.end >= parameters.start):
        lines = body.count(b"\n") + (not body.endswith(b"\n") and bool(body))
        if parameters.start > max(lines, 1):
            return Result(f"{parameters.path} has {lines:,} lines.", failed=True)
    return Result(wanted.decode("utf-8", "replace"), seen=seen)


def row(parameters: Read) -> str:
    if parameters.start == 1 and not parameters.end:
        return str(parameters.path)
    return f"{parameters.path} {parameters.start}–{parameters.end or ''}"


READ = Tool(
    name="read",
    description="Read a text file of the folder. start and end are line numbers, from 1, both included.",
    parameters=Read,
    kind="read",
    touches="reads",
    object=row,
    run=run,
)
