"""Apply a unified difference to files of the folder: all of it or nothing."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from core.domain.problems import Problem
from core.tools.lines import decode, ends_with_crlf
from core.tools.read import load
from core.tools.seen import digest
from core.tools.tool import Change, Result, Tool
from core.tools.unified import FilePatch, apply, parse
from core.tools.write import replace_file
from core.workspace.paths import inside

FILES = 100


@dataclass(frozen=True, slots=True)
class Patch:
    diff: Annotated[str, Field(min_length=1, max_length=4 << 20, description="A unified difference of any files.")]


async def run(parameters: Patch, workspace: Path) -> Result:
    return await asyncio.to_thread(_patch, parameters, workspace)


def _patch(parameters: Patch, workspace: Path) -> Result:
    files = parse(parameters.diff)
    if len(files) > FILES:
        raise Problem(f"The difference changes {len(files)} files.", f"{FILES} is the most at once.", "Split it.")
    changes = [_change(file, workspace) for file in files]
    places = [inside(workspace, change.path) for change in changes]
    if len(set(places)) < len(places):
        raise Problem("Two names of the difference are one file.", "", "Put all its hunks under one name.")
    _put_all(list(zip(places, changes, strict=True)))
    told = ", ".join(f"{_verb(change)} {change.path}" for change in changes)
    seen = tuple((change.path, digest(change.after)) for change in changes if change.after is not None)
    return Result(f"Patched: {told}.", changes=tuple(changes), seen=seen)


def _change(file: FilePatch, workspace: Path) -> Change:
    """What the difference makes of one file; nothing is written yet."""
    path = inside(workspace, file.path)
    if not file.old:
        if path.exists():
            raise Problem(f"{file.path} exists already.", "The difference makes it anew.", "Patch what is there.")
        return Change(file.path, None, apply(file, "").encode())
    before = load(path, file.path)
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


def _put_all(changes: list[tuple[Path, Change]]) -> None:
    """Write every file; when one cannot be written, those before it are put back."""
    done: list[tuple[Path, bytes | None]] = []
    try:
        for path, change in changes:
            _put(path, change.after)
            done.append((path, change.before))
    except OSError as error:
        for path, before in reversed(done):
            _put(path, before)
        raise Problem("A file could not be written; nothing was changed.", f"{error}.", "") from error


def _put(path: Path, body: bytes | None) -> None:
    if body is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, body)


def _verb(change: Change) -> str:
    return "made" if change.before is None else "removed" if change.after is None else "changed"


def paths(parameters: Patch) -> tuple[str, ...]:
    """Every file the difference names; none where it cannot be read, and then it is not applied either."""
    try:
        return tuple(file.path for file in parse(parameters.diff))
    except Problem:
        return ()


def row(parameters: Patch) -> str:
    named = paths(parameters)
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
