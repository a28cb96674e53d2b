"""A fork server with everything imported: each fork does one job while `strace` injects faults into its system calls.

For each job it reads a line of JSON ({"work": …, "folder": …}), writes the id of the fork, reads "go", and writes the
exit code.
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

from core.domain.events import CallStarted, RunStarted, SessionEvent, UserMessage
from core.domain.problems import Problem
from core.domain.text import Text
from core.store.backup import back_up, restore
from core.store.codec import encode_event
from core.store.data_folder import DATABASE_FILE, open_data_folder
from core.store.journal import Journal
from core.store.migrate import migrate
from core.store.reader import Reader
from core.store.salvage import salvage

ANYBODY = ctypes.c_ulong(-1)
MAY_TRACE = 0x59616D61  # PR_SET_PTRACER
DAY = date(2025, 1, 31)


def note(folder: Path, name: str, *words: object) -> None:
    """Append a line to a file next to the data folder, where no fault is injected; it survives a kill."""
    handle = os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, (" ".join(map(str, words)) + "\n").encode())
    os.close(handle)


def append(folder: Path) -> None:
    """Append large and small events, and note each one that was acknowledged.

    The rows derived from them are written after the second one, and at the end.
    """
    opened = open_data_folder(folder)
    assert opened.database is not None
    opened.ballast.on_release = lambda: note(folder, "reliefs", "relieved")
    reader = Reader(opened.path)
    journal = Journal(opened.database, reader)
    (name,) = [row.id for row in reader.sessions()]
    events: list[SessionEvent] = [
        RunStarted("m"),
        UserMessage(Text("large " * 900)),
        CallStarted("r1c1", "run", "command", "ls"),
    ]

    async def work() -> None:
        for event in events:
            try:
                entry = await journal.append(name, event)
                note(folder, "acks", entry.seq)
                if event is events[1]:
                    reader.sessions()
            except Problem as problem:
                note(folder, "said", problem)

    asyncio.run(work())
    reader.close()
    opened.database.close()


def migrate_file(folder: Path) -> None:
    """Apply the migrations in the folder to its file."""
    with closing(sqlite3.connect(folder / DATABASE_FILE, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        migrate(db, folder / "migrations")


def back_up_file(folder: Path) -> None:
    back_up(folder / DATABASE_FILE, DAY)


def salvage_file(folder: Path) -> None:
    salvage(folder / DATABASE_FILE)


def restore_backup(folder: Path) -> None:
    restore(folder / DATABASE_FILE, folder / "backups" / f"journeyman-{DAY}.db")


JOBS = {work.__name__: work for work in (append, migrate_file, back_up_file, salvage_file, restore_backup)}


def run(work: str, folder: Path) -> None:
    """In the fork: allow any process to trace us, wait for "go", do the job, and exit without cleanup."""
    ctypes.CDLL(None).prctl(MAY_TRACE, ANYBODY, 0, 0, 0)
    os.read(0, 3)
    code = 1
    try:
        JOBS[work](folder)
        code = 0
    except Problem as problem:
        note(folder, "said", problem)
        code = 0
    finally:
        if code:
            traceback.print_exc()
        os._exit(code)


def main() -> None:
    # The codec builds its validators on first use; do it once here instead of in every fork.
    encode_event(UserMessage(Text("warm")))
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
