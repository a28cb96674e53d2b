"""Run a shell command in the folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Gt, Le

from core.tools.tool import Result, Tool
from core.workspace.process import run_command


@dataclass(frozen=True, slots=True)
class Run:
    command: str
    timeout_s: Annotated[float, Gt(0), Le(86_400)] = 120.0


async def run(parameters: Run, workspace: Path) -> Result:
    done = await run_command(parameters.command, workspace, parameters.timeout_s)
    output = f"{done.output}\n[{done.ended}]" if done.ended else done.output
    return Result(output, failed=bool(done.ended) or done.exit_code != 0, exit_code=done.exit_code)


RUN = Tool(
    name="run",
    description="Run a shell command in the folder. Its output and exit code come back.",
    parameters=Run,
    kind="command",
    touches="runs",
    object=lambda parameters: str(parameters.command),
    run=run,
)
