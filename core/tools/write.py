"""The `write` tool: create or replace a text file."""

from dataclasses import dataclass
from typing import Annotated

from core.tools.file_changes import refuse_undecodable_name
from core.tools.parameter_description import ParameterDescription
from core.tools.read_before_edit import content_digest
from core.tools.tool import FileChange, Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.workspace.threads import run_to_completion


@dataclass(frozen=True, slots=True)
class WriteArguments:
    path: Annotated[str, ParameterDescription("The file.")]
    content: Annotated[str, ParameterDescription("The whole new text.")]


async def run(parameters: WriteArguments, place: ToolContext) -> ToolResult:
    return await run_to_completion(_write, parameters, place)


def _write(parameters: WriteArguments, place: ToolContext) -> ToolResult:
    refuse_undecodable_name(parameters.path)
    after = parameters.content.encode("utf-8", "replace")
    done = place.broker.write(parameters.path, after, allow_protected=bool(place.grant.protected_paths))
    what = "Wrote" if done.before is None else "Replaced"
    linked = " Another hard link to the file still has the old text." if done.links > 1 else ""
    changes = () if done.before == after else (FileChange(parameters.path, done.before, after, (done.mode, done.mode)),)
    text = f"{what} {parameters.path} ({len(after):,} bytes).{linked}"
    return ToolResult(text, changes=changes, known_files=((parameters.path, content_digest(after)),))


WRITE = Tool(
    name="write",
    description="Write a text file, replacing its contents. Missing folders are created.",
    parameters=WriteArguments,
    kind="write",
    access="write",
    describe=lambda parameters: str(parameters.path),
    run=run,
)
