"""Find files by their names."""

import asyncio
import stat
from dataclasses import dataclass
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.globs import LONGEST, matches, parts_of
from core.domain.problems import Problem
from core.tools.place import Place
from core.tools.says import Says
from core.tools.tool import Result, Tool
from core.tools.walk import Walk, shown

MOST = 500


@dataclass(frozen=True, slots=True)
class Find:
    pattern: Annotated[str, MinLen(1), MaxLen(LONGEST), Says("For example *.py or src/**/test_*.py")]
    path: Annotated[str, Says("The folder to look in; the whole one when left out.")] = "."


async def run(parameters: Find, place: Place) -> Result:
    return await asyncio.to_thread(_find, parameters, place)


def _find(parameters: Find, place: Place) -> Result:
    start = folder_of(parameters.path, place)
    walk, pattern = Walk(place.folder.resolve()), parts_of(parameters.pattern)
    found: list[str] = []
    more = 0
    for path in walk.files(start):
        if matches(pattern, path[len(start) :]):
            more += len(found) >= MOST
            if len(found) < MOST:
                found.append(shown(path))
    notes = [f"{more:,} more"] if more else []
    notes += [walk.cut] if walk.cut else []
    if not found:
        notes.insert(0, "nothing found")
    return Result("\n".join(found + ([f"[{'; '.join(notes)}]"] if notes else [])))


def folder_of(name: str, place: Place) -> tuple[str, ...]:
    """The parts of a folder's path inside the workspace, links resolved."""
    real = place.broker.real(name)
    found = place.broker.look(real)
    if found is None or not stat.S_ISDIR(found.st_mode):
        raise Problem(f"There is no folder {name}.", "", "Name a folder that exists.")
    return tuple(part for part in real.split("/") if part not in ("", "."))


FIND = Tool(
    name="find",
    description="List files of the folder whose names fit a pattern. What .gitignore names is left out.",
    parameters=Find,
    kind="find",
    touches="reads",
    object=lambda p: p.pattern if p.path in ("", ".") else f"{p.pattern} in {p.path}",
    run=run,
)
