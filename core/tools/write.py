"""The `write` tool: create or replace a text file."""

from dataclasses import dataclass
from typing import Annotated

from core.domain.problems import Problem
from core.tools.file_changes import refuse_undecodable_name
from core.tools.parameter_description import ParameterDescription
from core.tools.read_before_edit import content_digest
from core.tools.tool import NOTHING_CHANGED, KnownFile, Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.workspace.file_change import FileChange, FileModes
from core.workspace.threads import run_to_completion


@dataclass(frozen=True, slots=True)
class WriteArguments:
    path: Annotated[str, ParameterDescription("The file.")]
    content: Annotated[str, ParameterDescription("The whole new text.")]


async def run(parameters: WriteArguments, context: ToolContext) -> ToolResult:
    return await run_to_completion(_write, parameters, context)


def _write(parameters: WriteArguments, context: ToolContext) -> ToolResult:
    refuse_undecodable_name(parameters.path)
    content = keep_final_newline(parameters.content, ends_with_newline=_ends_with_newline(parameters.path, context))
    kept_note = "" if content == parameters.content else " The newline at its end was kept."
    after = content.encode("utf-8", "replace")
    replaced = context.broker.write(parameters.path, after, allow_protected=bool(context.grant.protected_paths))
    known_files = (KnownFile(parameters.path, content_digest(after)),)
    if replaced.before == after:
        text = f"{parameters.path} has exactly this text already. {NOTHING_CHANGED}"
        return ToolResult(text, known_files=known_files)
    verb = "Wrote" if replaced.before is None else "Replaced"
    link_note = " Another hard link to the file still has the old text." if replaced.links > 1 else ""
    text = f"{verb} {parameters.path} ({len(after):,} bytes).{kept_note}{link_note}"
    modes = FileModes(before=replaced.mode, after=replaced.mode)
    change = FileChange(parameters.path, replaced.before, after, modes)
    return ToolResult(text, changes=(change,), known_files=known_files)


def keep_final_newline(content: str, *, ends_with_newline: bool) -> str:
    """Add a final newline to `content` if it has none but the file to replace ends with one (`ends_with_newline`)."""
    return f"{content}\n" if content and ends_with_newline and not content.endswith("\n") else content


def _ends_with_newline(path: str, context: ToolContext) -> bool:
    """Return whether the file to replace ends with a newline. Models forget it when they rewrite a file."""
    try:
        return (context.broker.read_small(path) or b"").endswith(b"\n")
    except Problem:  # The file does not exist, or writing it will report the error.
        return False


WRITE = Tool(
    name="write",
    description="Write a text file, replacing its contents. Missing folders are created.",
    parameters=WriteArguments,
    kind="write",
    access="write",
    describe=lambda parameters: str(parameters.path),
    run=run,
)
