"""Run a shell command in the folder, between walls, and tell what it did to the files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Gt, Le

from core.tools.tool import Change, Result, Tool, to_its_end
from core.workspace.launch import Asked, Limits, Permit
from core.workspace.process import Finished, Hear
from core.workspace.sandbox import Sandbox, of_this_machine
from core.workspace.scan import Missed, Scan

NAMED = 20  # paths named to the model, of each kind


@dataclass(frozen=True, slots=True)
class Run:
    command: str
    timeout_s: Annotated[float, Gt(0), Le(86_400)] = 120.0


async def run(parameters: Run, workspace: Path) -> Result:
    sandbox = await to_its_end(of_this_machine)
    return await run_in(sandbox, Scan(workspace), parameters)


async def run_in(
    sandbox: Sandbox, scan: Scan, parameters: Run, permit: Permit | None = None, hear: Hear | None = None
) -> Result:
    """One command of a run: `scan` remembers the folder between commands, `permit` is what a person allowed."""
    found = await to_its_end(scan.before)
    limits = Limits(time_s=parameters.timeout_s)
    asked = Asked(parameters.command, scan.folder, limits, permit or Permit(), found.protected, found.hidden)
    done = await sandbox.run(asked, hear)
    changes, missed = await to_its_end(scan.after)
    output = "".join([done.output, *(f"\n[{note}]" for note in notes(done, missed))])
    made = tuple(Change(change.path, change.before, change.after) for change in changes)
    return Result(output, bool(done.ended) or done.exit_code != 0, done.exit_code, made)


def notes(done: Finished, missed: Missed) -> list[str]:
    """What the output itself does not say."""
    found = [done.ended] if done.ended else []
    if missed.protected:
        found.append(f"made or changed what is protected: {_names(missed.protected)}")
    if missed.contents:
        found.append(f"also changed, but not kept, so that it cannot be taken back: {_names(missed.contents)}")
    if done.exit_code and any(words in done.output for words in ("Read-only file system", "resource busy")):
        found.append("protected files and everything outside the folder are read-only here")
    return found


def _names(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more


RUN = Tool(
    name="run",
    description="Run a shell command in the folder. Its output and exit code come back. There is no network.",
    parameters=Run,
    kind="command",
    touches="runs",
    object=lambda parameters: str(parameters.command),
    run=run,
)
