"""Read a file: text, whole or some lines of it; images and PDFs for models that can see them."""

import asyncio
import posixpath
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Annotated

from annotated_types import Ge

from core.tools.place import Place
from core.tools.seen import digest
from core.tools.tool import Result, Shown, Tool

SHOWN = 3_700_000  # bytes; five million as base64, which is where the first servers refuse
BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


@dataclass(frozen=True, slots=True)
class Read:
    path: str
    start: Annotated[int, Ge(1)] = 1
    end: Annotated[int, Ge(0)] = 0


async def run(parameters: Read, place: Place) -> Result:
    if 0 < parameters.end < parameters.start:
        return Result(f"Nothing was read: start {parameters.start} is after end {parameters.end}.", failed=True)
    body = place.broker.read_small(parameters.path, keys=False)
    return await asyncio.to_thread(_read, parameters, place) if body is None else _result(parameters, body)


def _read(parameters: Read, place: Place) -> Result:
    return _result(parameters, place.broker.read(parameters.path, keys=False))


def _result(parameters: Read, body: bytes) -> Result:
    if kind := _seen_as(body):
        return _show(parameters.path, kind, body)
    if b"\0" in body[:8192]:
        return Result(f"{parameters.path} is no text file ({len(body):,} bytes).", failed=True)
    seen = ((parameters.path, digest(body)),)
    # Only the lines that are wanted become text: long runs read long files in small pieces.
    wanted = b"".join(islice(BytesIO(body), parameters.start - 1, parameters.end or None))
    if not wanted and parameters.start > 1:
        lines = body.count(b"\n") + (not body.endswith(b"\n") and bool(body))
        if parameters.start > max(lines, 1):
            return Result(f"{parameters.path} has {lines:,} lines.", failed=True)
    return Result(wanted.decode("utf-8", "replace"), seen=seen)


def _seen_as(body: bytes) -> str:
    """The kind of an image or a PDF, by how it begins; empty for anything else."""
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in BEGINNINGS if body.startswith(start)), "")


def _show(path: str, kind: str, body: bytes) -> Result:
    name = posixpath.basename(path)
    if len(body) > SHOWN:
        why = f"{path} is too large to be looked at: {kind}, {len(body):,} bytes; {SHOWN:,} are the most."
        return Result(why, failed=True)
    return Result(f"{path} ({kind}, {len(body):,} bytes)", shown=(Shown(name, kind, body),))


def row(parameters: Read) -> str:
    if parameters.start == 1 and not parameters.end:
        return str(parameters.path)
    return f"{parameters.path} {parameters.start}–{parameters.end or ''}"


READ = Tool(
    name="read",
    description="Read a file of the folder: text, an image or a PDF. start and end are line numbers, both included.",
    parameters=Read,
    kind="read",
    touches="reads",
    object=row,
    run=run,
)
