"""Run a shell command in the folder, between walls, and tell what it did to the files."""

from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Gt, Le

from core.tools.place import Place
from core.tools.tool import Change, Result, Tool
from core.workspace.guarded import PROTECTED
from core.workspace.launch import Asked, Limits, Permit
from core.workspace.process import Finished
from core.workspace.scan import Guarded, Missed
from core.workspace.thread import to_its_end

NAMED = 20  # paths named to the model, of each kind


@dataclass(frozen=True, slots=True)
class Run:
    command: str
    timeout_s: Annotated[float, Gt(0), Le(86_400)] = 120.0


async def run(parameters: Run, place: Place) -> Result:
    """One command of a run: its scan remembers the folder between commands."""
    sandbox = await place.proven()
    found = await to_its_end(place.scan.before)
    permit = await _permit(place, found)
    limits = Limits(time_s=parameters.timeout_s)
    asked = Asked(parameters.command, place.folder, limits, permit, found.protected, found.hidden, place.word.argv)
    done = await sandbox.run(asked, place.listener())
    changes, missed = await to_its_end(place.scan.after)
    output = "".join([done.output, *(f"\n[{note}]" for note in notes(done, missed, place.out.refused()))])
    made = tuple(Change(change.path, change.before, change.after) for change in changes)
    return Result(output, bool(done.ended) or done.exit_code != 0, done.exit_code, made)


async def _permit(place: Place, found: Guarded) -> Permit:
    """What a person allowed this run and this call."""
    word = place.word
    protected = (*PROTECTED, *found.protected) if word.protected else ()
    return replace(await place.out.permit(), secrets=word.secrets, protected=protected, unconfined=word.unconfined)


def notes(done: Finished, missed: Missed, refused: tuple[str, ...] = ()) -> list[str]:
    """What the output itself does not say."""
    found = [done.ended] if done.ended else []
    if missed.protected:
        found.append(f"made or changed what is protected: {_names(missed.protected)}")
    if missed.contents:
        found.append(f"also changed, but not kept, so that it cannot be taken back: {_names(missed.contents)}")
    if refused:
        found.append(f"wanted to reach what is not allowed in this run: {_names(refused)}")
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
