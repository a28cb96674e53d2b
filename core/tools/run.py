"""Run a shell command in the folder, between walls, and tell what it did to the files."""

import asyncio
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Gt, Le

from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.tools.commands import Background
from core.tools.place import Place
from core.tools.says import Says
from core.tools.taken_back import Guard, take_back
from core.tools.tool import Change, Result, Tool
from core.workspace.launch import Asked, Limits, Permit
from core.workspace.process import Finished
from core.workspace.sandbox import Sandbox
from core.workspace.scan import Altered, Missed
from core.workspace.thread import to_its_end

USUAL_S, DAY_S = 120.0, 86_400.0
TAKEN_BACK = "taken back, because other programs obey it and nobody allowed it: {}; use write, which asks"
NAMED = 20  # paths named to the model, of each kind


@dataclass(frozen=True, slots=True)
class Run:
    command: str
    timeout_s: Annotated[
        float, Gt(0), Le(86_400), Says("It is stopped then; in the background 120 means: when the run ends.")
    ] = USUAL_S
    background: Annotated[bool, Says("Return at once with an id for check; it ends with the run.")] = False


async def run(parameters: Run, place: Place) -> Result:
    """One command of a run: its scan remembers the folder between commands."""
    if "\0" in parameters.command:
        raise Problem("That is no command.", "There is a NUL in it.", "Leave it out.")
    sandbox = await place.proven()
    place.broker.check_folder()  # walls are put up around what the path names
    if parameters.background:
        place.commands.check_room()
    found = await to_its_end(place.scan.before)
    limits = Limits(time_s=_time(parameters))
    permit = await _permit(place)
    asked = Asked(parameters.command, place.folder, limits, permit, found.protected, found.hidden, place.word.argv)
    if parameters.background:
        return await _begin(sandbox, asked, place)
    guard = Guard(place, parameters.command, place.word)
    try:
        done = await sandbox.run(asked, place.listener(), guard.look)
    except asyncio.CancelledError:
        changes, _, _ = await to_its_end(look_after, place, parameters.command)
        await place.commands.stopped(place.call, changes)
        raise
    changes, missed, late = await to_its_end(look_after, place, parameters.command)
    gone = tuple(sorted({*guard.gone, *late}))
    told = [*notes(done, missed, place.out.refused()), *([TAKEN_BACK.format(_names(gone))] if gone else [])]
    output = "".join([done.output, *(f"\n[{note}]" for note in told)])
    made = tuple(Change(change.path, change.before, change.after, change.modes) for change in changes)
    return Result(output, bool(done.ended) or done.exit_code != 0, done.exit_code, made, unkept=named(missed.contents))


def look_after(place: Place, command: str) -> tuple[tuple[Altered, ...], Missed, tuple[str, ...]]:
    """What a command changed, after what it must not leave behind was taken back."""
    return take_back(place, command, place.word, *place.scan.after())


async def _begin(sandbox: Sandbox, asked: Asked, place: Place) -> Result:
    """Start it and let it go on."""
    said, tell = place.call, place.listener()
    aside = replace(place, scan=place.scan.fork())

    def after() -> tuple[tuple[Altered, ...], str]:
        word = replace(place.word, opens=(*place.word.opens, *one.noted))  # others of the run were allowed those
        changes, _, gone = look_after(replace(aside, word=word), asked.command)
        return changes, f"\n[{TAKEN_BACK.format(_names(gone))}]" if gone else ""

    one = Background(asked.command, after)

    def hear(piece: bytes) -> None:
        one.hear(piece)
        if tell:
            tell(piece)

    one.running = await sandbox.start(asked, hear)
    place.commands.follow(said, one)
    return Result(f"It runs in the background as {said}. Look after it with check; it ends with this run.")


def _time(parameters: Run) -> float:
    return DAY_S if parameters.background and parameters.timeout_s == USUAL_S else parameters.timeout_s


async def _permit(place: Place) -> Permit:
    """What a person allowed this run and this call."""
    word = place.word
    return replace(await place.out.permit(), secrets=word.secrets, protected=word.opens, unconfined=word.unconfined)


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


def named(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The first of them, as they are shown, and how many more there are."""
    more = (f"and {len(paths) - NAMED:,} more",) if len(paths) > NAMED else ()
    return (*(visible_name(path) for path in paths[:NAMED]), *more)


def _names(paths: tuple[str, ...]) -> str:
    return ", ".join(named(paths))


RUN = Tool(
    name="run",
    description="Run a shell command in the folder. Its output and exit code come back. There is no network.",
    parameters=Run,
    kind="command",
    touches="runs",
    object=lambda parameters: str(parameters.command),
    run=run,
)
