"""A process that has everything imported and forks: each fork does one piece of work while `strace` spoils its calls.

Reads lines of JSON ({"work": …, "folder": …}) and "go"; writes the fork's id, then how it ended.
"""

import asyncio
import ctypes
import json
import os
import sqlite3
import traceback
from contextlib import closing
from datetime import date
from pathlib import Path

from core.domain.events import CallStarted, PersonSpoke, RunEvent, RunStarted
from core.domain.problems import Problem
from core.domain.text import Text
from core.store.backup import back_up, restore
from core.store.codec import pack
from core.store.journal import Journal
from core.store.migrate import migrate
from core.store.opening import FILE, open_data
from core.store.reader import Reader
from core.store.salvage import salvage

ANYBODY = ctypes.c_ulong(-1)
MAY_TRACE = 0x59616D61  # PR_SET_PTRACER
DAY = date(2025, 1, 31)


def note(folder: Path, name: str, *words: object) -> None:
    """Beside the data, where no fault is put in; durable enough for a process that dies."""
    handle = os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, (" ".join(map(str, words)) + "\n").encode())
    os.close(handle)


def append(folder: Path) -> None:
    """Add facts, large and small, and note each that was acknowledged."""
    opened = open_data(folder)
    assert opened.database is not None
    opened.ballast.on_relief = lambda: note(folder, "reliefs", "relieved")
    reader = Reader(opened.path)
    journal = Journal(opened.database, reader)
    (name,) = [row.id for row in reader.sessions()]
    facts: list[RunEvent] = [
        RunStarted("m"),
        PersonSpoke(Text("large " * 900)),
        CallStarted("r1c1", "run", "command", "ls"),
    ]

    async def work() -> None:
        for fact in facts:
            try:
                entry = await journal.append(name, fact)
                note(folder, "acks", entry.seq)
            except Problem as problem:
                note(folder, "said", problem)

    asyncio.run(work())
    reader.close()
    opened.database.close()


def change(folder: Path) -> None:
    """Bring a file to the newest form of the folder's own changes."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        migrate(db, folder / "migrations")


def copy(folder: Path) -> None:
    back_up(folder / FILE, DAY)


def mend(folder: Path) -> None:
    salvage(folder / FILE)


def put_back(folder: Path) -> None:
    restore(folder / FILE, folder / "backups" / f"journeyman-{DAY}.db")


WORKS = {work.__name__: work for work in (append, change, copy, mend, put_back)}


def run(work: str, folder: Path) -> None:
    """In the fork: let anybody trace us, wait for the word, work, end without any clearing up."""
    ctypes.CDLL(None).prctl(MAY_TRACE, ANYBODY, 0, 0, 0)
    os.read(0, 3)
    ended = 1
    try:
        WORKS[work](folder)
        ended = 0
    except Problem as problem:
        note(folder, "said", problem)
        ended = 0
    finally:
        if ended:
            traceback.print_exc()
        os._exit(ended)


def main() -> None:
    # The codec makes its validators on first use, and that should not be paid for by every fork.
    pack(PersonSpoke(Text("warm")))
    while line := os.read(0, 4096):
        asked = json.loads(line)
        child = os.fork()
        if not child:
            run(asked["work"], Path(asked["folder"]))
        os.write(1, f"{child}\n".encode())
        _, status = os.waitpid(child, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
