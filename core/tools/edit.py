"""The `edit` tool: replace one piece of text that occurs exactly once in a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from annotated_types import MinLen

from core.domain.problems import Problem
from core.tools.file_changes import LIMIT, read_bytes, replace_file
from core.tools.parameter_description import ParameterDescription
from core.tools.read_before_edit import content_digest, normalized_path, require_read
from core.tools.text_files import decode_text, match_line_endings
from core.tools.tool import FileChange, Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.workspace.threads import run_to_completion


@dataclass(frozen=True, slots=True)
class EditArguments:
    path: Annotated[str, ParameterDescription("The file.")]
    old_string: Annotated[str, MinLen(1), ParameterDescription("The exact text to replace.")]
    new_string: Annotated[str, ParameterDescription("The text to replace it with.")]


@dataclass(frozen=True, slots=True)
class CheckedEdit:
    """An edit with the digest of the contents that this session has read; empty if it has not read the file."""

    edit: EditArguments
    digest: str = ""


def with_known_digest(parameters: EditArguments, digests: Mapping[str, str]) -> CheckedEdit:
    return CheckedEdit(parameters, digests.get(normalized_path(parameters.path), ""))


async def run(parameters: EditArguments | CheckedEdit, context: ToolContext) -> ToolResult:
    checked = parameters if isinstance(parameters, CheckedEdit) else CheckedEdit(parameters)
    return await run_to_completion(_edit, checked.edit, checked.digest, context)


def _edit(parameters: EditArguments, digest: str, context: ToolContext) -> ToolResult:
    before = read_bytes(context, parameters.path)
    require_read(parameters.path, before, digest)
    after = apply_edit(decode_text(before, parameters.path), parameters).encode()
    if len(after) > LIMIT:
        raise Problem(f"{parameters.path} would be too large.", f"{len(after):,} bytes; {LIMIT:,} can be edited.")
    modes = replace_file(context, parameters.path, after)
    return ToolResult(
        f"Edited {parameters.path}.",
        changes=(FileChange(parameters.path, before, after, modes),),
        known_files=((parameters.path, content_digest(after)),),
    )


def apply_edit(text: str, parameters: EditArguments) -> str:
    """Return the text after the edit; raise a Problem unless `old_string` occurs exactly once."""
    old, new = match_line_endings(text, parameters.old_string), match_line_endings(text, parameters.new_string)
    if old == new:
        raise Problem("Nothing would change.", "old_string equals new_string.", "Give a different new_string.")
    first = text.find(old)
    if first < 0:
        raise Problem(f"old_string was not found in {parameters.path}.", _nearest(text, old), "Copy the text exactly.")
    if (second := text.find(old, first + 1)) >= 0:
        cause = f"Lines {text.count(chr(10), 0, first) + 1} and {text.count(chr(10), 0, second) + 1} contain it"
        raise Problem(
            f"old_string occurs in {parameters.path} more than once.", f"{cause}.", "Include more surrounding lines."
        )
    return text[:first] + new + text[first + len(old) :]


def _nearest(text: str, old: str) -> str:
    """Name a line that equals the first line of the searched text but for leading and trailing spaces."""
    first_line = next((line.strip() for line in old.splitlines() if line.strip()), "")
    for number, line in enumerate(text.splitlines(), 1):
        if first_line and line.strip() == first_line:
            return f"Line {number} starts like it: {line[:200]!r}."
    return ""


EDIT = Tool(
    name="edit",
    description="Replace text in a file that you have read. old_string must match exactly once.",
    parameters=EditArguments,
    kind="edit",
    access="write",
    describe=lambda parameters: str(parameters.path),
    run=run,
    with_known_files=with_known_digest,
)
