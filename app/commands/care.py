"""`doctor`, `backup` and `compact`: look after this computer's side and the data."""

import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from app import places
from app.commands.context import Context
from app.commands.exits import DONE, FAILED

ROOM = 256 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    what: str
    do: str = ""


async def doctor(context: Context) -> int:
    found = list(_look(context))
    for each in found:
        if context.typed.json:
            context.out.json(asdict(each))
        else:
            context.out.write(f"{'ok ' if each.ok else 'bad'}  {each.name}: {each.what}")
            if each.do and not each.ok:
                context.out.write(f"     do: {each.do}")
    return DONE if all(each.ok for each in found) else FAILED


def _look(context: Context) -> Iterator[Finding]:
    version = platform.python_version()
    yield Finding("Python", (3, 11) <= sys.version_info[:2] < (3, 15), version, "Use Python 3.11 to 3.14.")
    yield _qt()
    free = shutil.disk_usage(context.home).free
    yield Finding("Disk", free >= ROOM, f"{free / 2**30:.1f} GB free", "Free some space.")
    rows = context.engine.sessions()
    size = places.database(context.home).stat().st_size
    yield Finding("Data", True, f"{context.home}: {len(rows)} sessions, {size / 2**20:.1f} MB")


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
    raise NotImplementedError


async def compact(context: Context) -> int:
    raise NotImplementedError
