"""The `find` tool: list files whose paths match a glob pattern."""

import asyncio
import stat
from dataclasses import dataclass
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.globs import MAX_LENGTH, matches, pattern_parts
from core.tools.folder_walk import FolderWalk, printable_path
from core.tools.missing_path import missing_path
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


async def run(parameters: FindArguments, context: ToolContext) -> ToolResult:
    return await asyncio.to_thread(_find_files, parameters, context)


def _find_files(parameters: FindArguments, context: ToolContext) -> ToolResult:
    start = resolve_folder(parameters.path, context)
    walk, pattern = FolderWalk(context.folder.resolve()), pattern_parts(parameters.pattern)
    lines: list[str] = []
    omitted = 0
    for path in walk.files(start):
        if not matches(pattern, path[len(start) :]):
            continue
        if len(lines) < MAX_FILES:
            lines.append(printable_path(path))
        else:
            omitted += 1
    notes = [] if lines else ["no matches"]
    if omitted:
        notes.append(f"{omitted:,} more")
    if walk.incomplete:
        notes.append(walk.incomplete)
    if notes:
        lines.append(f"[{'; '.join(notes)}]")
    return ToolResult("\n".join(lines))


def described_search(pattern: str, folder: str) -> str:
    """Return what the timeline shows for a call of a tool that searches for a pattern in a folder."""
    return pattern if folder in ("", ".") else f"{pattern} in {folder}"


def resolve_folder(name: str, context: ToolContext) -> tuple[str, ...]:
    """Return the parts of a folder's path relative to the workspace, with links resolved."""
    resolved = context.broker.resolve(name)
    status = context.broker.stat(resolved)
    if status is None or not stat.S_ISDIR(status.st_mode):
        raise missing_path(name, context, "folder")
    return tuple(part for part in resolved.split("/") if part not in ("", "."))


FIND = Tool(
    name="find",
    description="List files that match a glob pattern. Skips what .gitignore excludes.",
    parameters=FindArguments,
    kind="find",
    access="read",
    describe=lambda parameters: described_search(parameters.pattern, parameters.path),
    run=run,
)
