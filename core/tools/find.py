"""The `find` tool: list files whose paths match a glob pattern."""

import asyncio
import stat
from dataclasses import dataclass
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.globs import MAX_LENGTH, matches, pattern_parts
from core.domain.problems import Problem
from core.tools.folder_walk import FolderWalk, printable_path
from core.tools.parameter_description import ParameterDescription
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext

MAX_FILES = 500


@dataclass(frozen=True, slots=True)
class FindArguments:
    pattern: Annotated[
        str, MinLen(1), MaxLen(MAX_LENGTH), ParameterDescription("Glob, such as *.py or src/**/test_*.py")
    ]
    path: Annotated[str, ParameterDescription("Folder to search; default: all.")] = "."


async def run(parameters: FindArguments, place: ToolContext) -> ToolResult:
    return await asyncio.to_thread(_find, parameters, place)


def _find(parameters: FindArguments, place: ToolContext) -> ToolResult:
    start = resolve_folder(parameters.path, place)
    walk, pattern = FolderWalk(place.folder.resolve()), pattern_parts(parameters.pattern)
    found: list[str] = []
    more = 0
    for path in walk.files(start):
        if matches(pattern, path[len(start) :]):
            more += len(found) >= MAX_FILES
            if len(found) < MAX_FILES:
                found.append(printable_path(path))
    notes = [f"{more:,} more"] if more else []
    notes += [walk.incomplete] if walk.incomplete else []
    if not found:
        notes.insert(0, "no matches")
    return ToolResult("\n".join(found + ([f"[{'; '.join(notes)}]"] if notes else [])))


def resolve_folder(name: str, place: ToolContext) -> tuple[str, ...]:
    """Return the parts of a folder's path relative to the workspace, with links resolved."""
    real = place.broker.resolve(name)
    found = place.broker.stat(real)
    if found is None or not stat.S_ISDIR(found.st_mode):
        raise Problem(f"There is no folder {name}.", "", "Use a folder that exists.")
    return tuple(part for part in real.split("/") if part not in ("", "."))


FIND = Tool(
    name="find",
    description="List files that match a glob pattern. Skips what .gitignore excludes.",
    parameters=FindArguments,
    kind="find",
    access="read",
    describe=lambda p: p.pattern if p.path in ("", ".") else f"{p.pattern} in {p.path}",
    run=run,
)
