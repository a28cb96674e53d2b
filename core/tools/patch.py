"""Apply a unified difference to files of the folder: all of it or nothing."""

from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.problems import Problem
from core.tools.files import look, put, same_file
from core.tools.lines import decode, ends_with_crlf
from core.tools.place import Place
from core.tools.says import Says
from core.tools.seen import digest
from core.tools.tool import Change, Result, Tool
from core.tools.unified import FilePatch, apply, parse
from core.workspace.thread import to_its_end

FILES = 100


@dataclass(frozen=True, slots=True)
class Patch:
    diff: Annotated[str, MinLen(1), MaxLen(4 << 20), Says("A unified difference of any files.")]


async def run(parameters: Patch, place: Place) -> Result:
    return await to_its_end(_patch, parameters, place)


def _patch(parameters: Patch, place: Place) -> Result:
    files = parse(parameters.diff)
    if len(files) > FILES:
        raise Problem(f"The difference changes {len(files)} files.", f"{FILES} is the most at once.", "Split it.")
    changes = [_change(file, place) for file in files]
    if same_file(place, [change.path for change in changes]):
        raise Problem("Two names of the difference are one file.", "", "Put all its hunks under one name.")
    changes = _put_all(place, changes)
    told = ", ".join(f"{_verb(change)} {change.path}" for change in changes)
    seen = tuple((change.path, digest(change.after)) for change in changes if change.after is not None)
    return Result(f"Patched: {told}.", changes=tuple(changes), seen=seen)


def _change(file: FilePatch, place: Place) -> Change:
    """What the difference makes of one file; nothing is written yet."""
    if not file.old:
        if place.broker.look(file.path) is not None:
            raise Problem(f"{file.path} exists already.", "The difference makes it anew.", "Patch what is there.")
        return Change(file.path, None, apply(file, "").encode())
    before = look(place, file.path)
    text = decode(before, file.path)
    if ends_with_crlf(text) and not any("\r" in line for hunk in file.hunks for line in hunk.old):
        after = apply(file, text.replace("\r\n", "\n")).replace("\n", "\r\n")
    else:
        after = apply(file, text)
    if not file.new:
        if after:
            raise Problem(f"{file.path} would not be empty.", "The difference removes the file.", "Remove every line.")
        return Change(file.path, before, None)
    return Change(file.path, before, after.encode())


def _put_all(place: Place, changes: list[Change]) -> list[Change]:
    """Write every file; when one cannot be written, those before it are put back. With the modes they had."""
    done: list[Change] = []
    try:
        for change in changes:
            modes = put(place, change.path, change.after)
            done.append(replace(change, modes=modes))
    except (OSError, Problem) as error:
        for change in reversed(done):
            put(place, change.path, change.before, change.modes[0])
        raise Problem("A file could not be written; nothing was changed.", f"{error}.", "") from error
    return done


def _verb(change: Change) -> str:
    return "made" if change.before is None else "removed" if change.after is None else "changed"


def paths(parameters: Patch) -> tuple[str, ...]:
    """Every file the difference names. Nobody is asked about one that cannot be read."""
    return tuple(file.path for file in parse(parameters.diff))


def row(parameters: Patch) -> str:
    try:
        named = paths(parameters)
    except Problem:
        named = ()
    return ", ".join(named[:3]) + (f", +{len(named) - 3}" if len(named) > 3 else "") if named else "a difference"


PATCH = Tool(
    name="patch",
    description="Apply a unified difference to text files of the folder. Every hunk must fit, or nothing is changed.",
    parameters=Patch,
    kind="edit",
    touches="writes",
    object=row,
    run=run,
    paths=paths,
)
