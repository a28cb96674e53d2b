"""The `patch` tool: apply a unified diff to files of the folder, completely or not at all."""

from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.problems import Problem
from core.tools.file_changes import has_same_file_twice, read_bytes, replace_file
from core.tools.parameter_description import ParameterDescription
from core.tools.read_before_edit import content_digest
from core.tools.text_files import decode_text, ends_with_crlf
from core.tools.tool import KnownFile, Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.tools.unified_diff import FilePatch, apply_diff, parse_diff
from core.workspace.file_change import FileChange
from core.workspace.threads import run_to_completion

MAX_FILES = 100


@dataclass(frozen=True, slots=True)
class PatchArguments:
    diff: Annotated[str, MinLen(1), MaxLen(4 << 20), ParameterDescription("The unified diff.")]


async def run(parameters: PatchArguments, context: ToolContext) -> ToolResult:
    return await run_to_completion(_patch, parameters, context)


def _patch(parameters: PatchArguments, context: ToolContext) -> ToolResult:
    files = parse_diff(parameters.diff)
    if len(files) > MAX_FILES:
        raise Problem(f"The diff changes {len(files)} files.", f"The limit is {MAX_FILES}.", "Split it.")
    changes = [_change(file, context) for file in files]
    if has_same_file_twice(context, [change.path for change in changes]):
        raise Problem("Two names in the diff are the same file.", "", "Put all its hunks under one name.")
    changes = _write_all(context, changes)
    summary = ", ".join(f"{_verb(change)} {change.path}" for change in changes)
    bodies = {change.path: change.after for change in changes if change.after is not None}
    known_files = tuple(KnownFile(path, content_digest(body)) for path, body in bodies.items())
    return ToolResult(f"Patched: {summary}.", changes=tuple(changes), known_files=known_files)


def _change(file: FilePatch, context: ToolContext) -> FileChange:
    """Return the change that a diff would make to one file. Raise Problem if the diff does not apply."""
    if not file.old:
        if context.broker.stat(file.path) is not None:
            raise Problem(f"{file.path} already exists.", "The diff creates it.", "Patch the existing file.")
        return FileChange(file.path, before=None, after=apply_diff(file, "").encode())
    before = read_bytes(context, file.path)
    text = decode_text(before, file.path)
    if ends_with_crlf(text) and not any("\r" in line for hunk in file.hunks for line in hunk.old):
        after = apply_diff(file, text.replace("\r\n", "\n")).replace("\n", "\r\n")
    else:
        after = apply_diff(file, text)
    if not file.new:
        if after:
            raise Problem(f"{file.path} would not be empty.", "The diff deletes the file.", "Remove every line.")
        return FileChange(file.path, before, after=None)
    return FileChange(file.path, before, after.encode())


def _write_all(context: ToolContext, changes: list[FileChange]) -> list[FileChange]:
    """Write all files and return the changes with permission bits. If one write fails, revert the earlier ones."""
    written: list[FileChange] = []
    try:
        for change in changes:
            modes = replace_file(context, change.path, change.after)
            written.append(replace(change, modes=modes))
    except (OSError, Problem) as error:
        for change in reversed(written):
            replace_file(context, change.path, change.before, mode=change.modes.before)
        raise Problem("A file could not be written; nothing was changed.", f"{error}.", "") from error
    return written


def _verb(change: FileChange) -> str:
    if change.before is None:
        return "created"
    return "deleted" if change.after is None else "changed"


def paths(parameters: PatchArguments) -> tuple[str, ...]:
    """Return every file that the diff names; raise a Problem for an invalid diff, before the user is asked."""
    return tuple(file.path for file in parse_diff(parameters.diff))


def timeline_text(parameters: PatchArguments) -> str:
    try:
        names = paths(parameters)
    except Problem:
        return "a diff"
    more = f", +{len(names) - 3}" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


PATCH = Tool(
    name="patch",
    description="Apply a unified diff to text files of the folder. If one hunk does not apply, nothing is changed.",
    parameters=PatchArguments,
    kind="edit",
    access="write",
    describe=timeline_text,
    run=run,
    paths=paths,
)
