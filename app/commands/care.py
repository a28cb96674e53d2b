"""`doctor`, `backup` and `compact`: look after this computer's side and the data."""

import asyncio
import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app import places
from app.commands.context import Context
from app.commands.exits import DONE, FAILED
from app.commands.ruling import try_rule
from app.commands.trusting import said_of
from app.output import Output
from core.domain.problems import Problem
from core.engine.walls import WallsFound
from core.store.backup import backups_of, newest_good, verify
from core.store.backup import restore as put_back

if TYPE_CHECKING:
    from core.engine.providers import Overview
    from core.store.tables import Figures

ROOM = 256 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    what: str
    do: str = ""
    note: str = ""  # what could be better although it is well


async def doctor(context: Context) -> int:
    if context.typed.rule is not None:
        return await try_rule(context, context.typed.rule, context.folder)
    found = [
        *_look(context),
        walls_of(await context.engine.walls()),
        await _folder(context),
        *_models(await context.engine.models()),
        *await _servers(context),
        await _meaning(context),
        _data(context.home, await context.engine.figures()),
    ]
    for each in found:
        if context.typed.json:
            context.out.json(asdict(each))
        else:
            context.out.write(f"{'ok ' if each.ok else 'bad'}  {each.name}: {each.what}")
            if each.do and not each.ok:
                context.out.write(f"     do: {each.do}")
            if each.note:
                context.out.write(f"     note: {each.note}")
    return DONE if all(each.ok for each in found) else FAILED


def walls_of(found: WallsFound) -> Finding:
    """How well commands are confined here, as their test shows."""
    if found.off:
        return Finding("Sandbox", False, found.off.why or found.off.what, found.off.do)
    known = f"; a command can {', '.join(found.open)}" if found.open else ""
    return Finding("Sandbox", True, f"{found.name}, {found.level}{known}")


async def _folder(context: Context) -> Finding:
    """Whether what the folder brings along is obeyed."""
    found = await context.engine.folder_trust(context.folder)
    do = "Look at them, then: journeyman trust." if found.asks and found.brought else ""
    return Finding("Folder", True, f"{found.folder}: {said_of(found)}", note=do)


async def _servers(context: Context) -> list[Finding]:
    """Whether each tool server that is on starts, and says what was accepted."""
    servers = [row for row in context.engine.servers.list() if row.on]
    looked = await asyncio.gather(*(context.engine.servers.test(row.name) for row in servers))
    return [
        Finding(
            f"Tool server {look.name}",
            look.trouble is None,
            f"{look.trouble.what} {look.trouble.why}" if look.trouble else f"{len(look.tools)} tools",
            look.trouble.do if look.trouble else "",
            f"What it says has changed: journeyman mcp test {look.name}." if look.changed else "",
        )
        for look in looked
    ]


async def _meaning(context: Context) -> Finding:
    """Whether memories are found by what they mean, and can be."""
    found = await context.engine.memory.meaning()
    if found.trouble:
        return Finding("Memory", False, f"{found.trouble.what} {found.trouble.why}", found.trouble.do)
    told = f"found by meaning too; {found.made:,} of {found.memories:,} seen" if found.model else "found by words"
    return Finding("Memory", True, told)


def _look(context: Context) -> Iterator[Finding]:
    version = platform.python_version()
    yield Finding("Python", (3, 11) <= sys.version_info[:2] < (3, 15), version, "Use Python 3.11 to 3.14.")
    yield _qt()
    free = shutil.disk_usage(context.home).free
    yield Finding("Disk", free >= ROOM, f"{free / 2**30:.1f} GB free", "Free some space.")
    book = context.rules.read()
    if book.trouble:
        yield Finding(
            "Rules", False, f"{book.trouble.what} {book.trouble.why}", "Revoke it: journeyman rules revoke ID."
        )


def _models(found: "Overview") -> Iterator[Finding]:
    """Whether a run could begin, and where keys can be kept."""
    there = [row for row in found.providers if row.models]
    number = sum(len(row.models) for row in there)
    down = [row for row in found.providers if row.by == "you" and row.there is False and not row.trouble]
    none = "no server answers" if down else "no server is set up"
    what = f"{number:,} at {', '.join(row.name for row in there)}" if there else none
    do = "Start a model server on this machine, or give a key: journeyman models key NAME."
    unset = "" if found.model else "New sessions have no model: journeyman models use PROVIDER/MODEL."
    yield Finding("Models", True, what, note=unset if there else do)
    for row in found.providers:
        if row.trouble:
            yield Finding(f"Models of {row.name}", False, f"{row.trouble.what} {row.trouble.why}", row.trouble.do)
    for row in down:
        mend = f"Start it, or take it out: journeyman models remove {row.name}"
        yield Finding(f"Models of {row.name}", False, f"Nothing listens at {row.url}.", mend)
    trouble = found.keyring_trouble
    yield Finding(
        "Keyring",
        True,
        found.keyring or f"none to trust. {trouble.what if trouble else ''}",
        note=trouble.do if trouble else "",
    )
    if found.proxy_offered:
        note = f"To use it: journeyman models proxy {found.proxy_offered}"
        yield Finding("Proxy", True, "one stands in the environment and is not used", note=note)


def _data(home: Path, found: "Figures") -> Finding:
    rows = found.rows
    what = f"{home}: {rows['session']:,} sessions, {rows['entry']:,} facts, {found.stored / 2**20:.1f} MB"
    if found.largest:
        largest = found.largest[0]
        what += f"; the largest is {largest.id} ({largest.facts:,} facts)"
    return Finding("Data", True, what)


def _qt() -> Finding:
    if importlib.util.find_spec("PySide6") is None:
        return Finding("Window", False, "PySide6 is not installed.", "Run `python3 packaging/dev.py run`.")
    try:
        from PySide6.QtCore import qVersion  # only here: the other commands need no Qt
        from PySide6.QtGui import QGuiApplication  # noqa: F401  # loads what a window needs
    except ImportError as error:
        return Finding("Window", False, str(error), "Install the system library that is named.")
    return Finding("Window", True, f"Qt {qVersion()}")


async def backup(context: Context) -> int:
    made = await context.engine.back_up()
    context.out.write(f"Backed up to {made.path}: {made.health.facts:,} facts in {made.health.sessions:,} sessions.")
    return DONE


def restore(folder: Path, name: str, out: Output) -> int:
    """Put a backup in the place of the data, which nobody may have open; the present file is kept aside."""
    path = places.database(folder)
    found = verify(backups_of(path) / Path(name).name) if name else newest_good(path)
    if found is None:
        raise Problem("There is no good backup.", f"None was found in {backups_of(path)}.", "")
    aside = put_back(path, found.path)
    out.write(f"Restored {found.words}.")
    if aside:
        out.write(f"The data as it was is kept in {aside}.")
    return DONE


async def compact(context: Context) -> int:
    done = await context.engine.compact()
    context.out.write(f"{done.before / 2**20:.1f} MB before, {done.after / 2**20:.1f} MB now.")
    return DONE
