"""The `check` tool: read the new output of a background command, wait for it, or stop it."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from core.tools.background import BackgroundCommand
from core.tools.parameter_description import ParameterDescription
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext


@dataclass(frozen=True, slots=True)
class CheckArguments:
    id: Annotated[str, MinLen(1), MaxLen(100), ParameterDescription("The id that run returned.")]
    wait_s: Annotated[float, Ge(0), Le(600), ParameterDescription("Seconds to wait for it to end.")] = 0.0
    stop: Annotated[bool, ParameterDescription("Stop it.")] = False


async def run(parameters: CheckArguments, context: ToolContext) -> ToolResult:
    background = context.commands.get(parameters.id)
    if parameters.stop:
        background.running.kill("stopped on request")
    if background.follower and (parameters.stop or parameters.wait_s):
        await asyncio.wait({background.follower}, timeout=None if parameters.stop else parameters.wait_s)
    return ToolResult(background.take_output() + _state(background, parameters.id))


def _state(background: BackgroundCommand, call: str) -> str:
    finished = background.running.finished
    if finished is None:
        return f"\n[{call} is still running]"
    return f"\n[{call} has ended: {finished.killed_because or f'exit code {finished.exit_code}'}]"


CHECK = Tool(
    name="check",
    description="Get the new output of a background command and whether it has ended.",
    parameters=CheckArguments,
    kind="check_command",
    access="none",
    describe=lambda parameters: str(parameters.id),
    run=run,
)
