"""Open the data folder: see what state the file is in, mend what can be mended, and say so in words."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem, Trouble
from core.store.backup import newest_good, next_of
from core.store.ballast import Ballast
from core.store.database import Database, full, problem_of
from core.store.files import PARTS, finish, make_private, size_of, unwritable, wal_of
from core.store.health import Health, is_damage, look, peek
from core.store.marker import Marker, marker_of, read_marker, untouched, write_marker
from core.store.migrate import foreign, newer, newest

FILE = "journeyman.db"


@dataclass(frozen=True, slots=True)
class Opened:
    """What the program works with. A folder that cannot be written has no `database`: what is there can be seen.

    `frozen` is for the `Reader`; `notes` is what a person should be told, in order.
    """

    path: Path
    database: Database | None
    ballast: Ballast
    notes: tuple[Trouble, ...] = ()
    frozen: bool = False


def open_data(folder: Path, *, synchronous: str = "FULL") -> Opened:
    """Open the data in `folder` for writing, or for viewing where it cannot be written. Raises Problem in words.

    Only one program at a time may do this; `app.single` sees to it.
    """
    make_private(folder)
    path = folder / FILE
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        return _view(path, _CLOSED)
    try:
        finish(path, next_of(path))
        notes = _prepare(path)
        database, more = _open(path, synchronous)
    except Problem as problem:
        if full(problem.__cause__, folder):
            return _view(path, _FULL)
        raise
    except (sqlite3.Error, OSError) as error:
        if full(error, folder):
            return _view(path, _FULL)
        raise (unwritable(folder, error) if isinstance(error, OSError) else problem_of(error)) from error
    ballast = Ballast(folder)
    ballast.fill()
    database.relieve = ballast.relieve
    database.recover = ballast.fill
    return Opened(path, database, ballast, (*notes, *more))


def _prepare(path: Path) -> list[Trouble]:
    """Leave a file that can be opened, or raise Problem."""
    marker = read_marker(path)
    log_gone = marker is not None and not marker.closed and not wal_of(path).exists()
    clean = marker is not None and path.exists() and untouched(path, marker) and not size_of(wal_of(path))
    health = look(path, thorough=not clean)
    match health.state:
        case "missing" | "empty":
            if (marker is not None and marker.had_data) or size_of(wal_of(path)):
                raise _gone(path, health, marker)
            return []
        case "foreign":
            raise foreign()
        case "newer":
            raise newer(health.version)
        case "damaged":
            return _mend(path)
        case "good" if log_gone:
            return [LOG_GONE]
        case "good":
            return []


def _open(path: Path, synchronous: str) -> tuple[Database, list[Trouble]]:
    """Open what was looked at. Damage that shows only now is mended as well."""
    notes: list[Trouble] = []
    try:
        database = Database(path, synchronous=synchronous)
    except Problem as problem:
        if not is_damage(problem.__cause__):
            raise
        notes = _mend(path)
        database = Database(path, synchronous=synchronous)
    try:
        _note_begin(path)
    except BaseException:
        database.close()
        raise
    database.closed = lambda whole: _note_end(path, whole)
    return database, notes


def _note_begin(path: Path) -> None:
    for part in PARTS:
        # By name: a file that is opened and closed here would lose the locks SQLite holds on it for this process.
        if path.with_name(path.name + part).exists():
            path.with_name(path.name + part).chmod(0o600)
    write_marker(path, closed=False, facts=_facts(path))


def _note_end(path: Path, whole: bool) -> bool:
    """A clean end spares the next start the reading of every page."""
    if not whole or size_of(wal_of(path)):
        return False
    try:
        write_marker(path, closed=True, facts=_facts(path))
    except (OSError, sqlite3.Error):
        return False  # the mark of an open file stays, and the next start looks closely
    return True


def _facts(path: Path) -> int:
    with closing(peek(path)) as db:
        count: int = db.execute("SELECT coalesce(sum(seq), 0) FROM session").fetchone()[0]
    return count


class _Bar(NamedTuple):
    """What keeps us from writing, and what to do about it, also where the log cannot even be read."""

    why: str
    do: str
    do_with_log: str


_CLOSED = _Bar(
    "{} cannot be written.",
    "Give yourself the right to write there, or choose another folder with --home.",
    "Copy the folder to a place where you may write, and open it there with --home.",
)
_FULL = _Bar("The disk of {} is full.", "Free some space, then start again.", "Free some space, then start again.")


def _view(path: Path, bar: _Bar) -> Opened:
    """Look at what is there without writing a byte."""
    why, do = bar.why.format(path.parent), bar.do
    waiting = size_of(wal_of(path)) > 0
    try:
        health = look(path)
    except sqlite3.Error as error:
        raise Problem("The newest facts cannot be read here.", f"{why} {error}.", bar.do_with_log) from error
    match health.state:
        case "foreign":
            raise foreign()
        case "newer":
            raise newer(health.version)
        case "missing" | "empty":
            raise Problem("There is no data to show.", why, do)
        case "damaged":
            raise Problem("The data file is damaged and cannot be mended here.", f"{health.why}. {why}", do)
        case "good" if health.version < newest():
            raise Problem("The data is of an older form and cannot be brought up to date.", why, do)
        case "good":
            note = Trouble("You can look, but nothing can be changed or run.", why, do)
            return Opened(path, None, Ballast(path.parent), (note,), frozen=not waiting)


def _mend(path: Path) -> list[Trouble]:
    """Salvage a damaged file and say what came of it."""
    # The codec comes with it, and a start that finds everything well does not wait for that.
    from core.store.salvage import salvage

    saved = salvage(path)
    told = [f"{saved.facts:,} facts in {saved.sessions:,} sessions were saved from it"]
    if saved.backup and saved.filled:
        told.append(f"{saved.filled:,} more came from the backup {saved.backup.path.name}")
    told.append(f"{saved.lost:,} are known to be lost" if saved.lost else "none is known to be lost")
    do = f"The damaged file was set aside as {saved.aside.name}; nothing of it was deleted."
    if saved.lost or not saved.facts:
        do += " Look into the newest sessions before you go on."
    return [Trouble("The data file was damaged and has been mended.", f"{'; '.join(told)}.", do)]


def _gone(path: Path, health: Health, marker: Marker | None) -> Problem:
    """A file that was there and is not any more: a new one would hide that."""
    facts = f" with {marker.facts:,} facts" if marker and marker.facts else ""
    how = "gone" if health.state == "missing" else "empty"
    found = newest_good(path)
    away = f"To begin anew, move {marker_of(path).name} away."
    if found:
        do = f"Restore the newest good backup, {found.words}, with `journeyman backup --restore`. {away}"
    else:
        do = f"There is no good backup. Put the file back. {away}"
    return Problem(f"The data file is {how}.", f"{path} was there{facts}. No new one was made.", do)


LOG_GONE = Trouble(
    "The newest facts may be missing.",
    f"Journeyman did not end in order, and the file {FILE}-wal that held them is gone.",
    "Look into the newest sessions before you go on.",
)
