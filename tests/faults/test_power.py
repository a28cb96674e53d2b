"""Power cuts, simulated from the program's recorded writes: unsynced ones are lost, kept or torn."""

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.store.database import Database
from core.store.rebuild import rebuild
from tests.core.store.made import dump
from tests.faults.conftest import REASON
from tests.faults.tally import CountFaults

IMAGES = 500 if os.environ.get("EVERY_FAULT") else 60
SECTOR = 512  # bytes that a disk writes atomically
CALLS = "trace=pwrite64,write,fsync,fdatasync,ftruncate,unlink"

WRITER = """
import asyncio, os, sys
from pathlib import Path
from core.domain.events import UserMessage
from core.domain.text import Text
from core.store.database import Database
from core.store.journal import Journal
from tests.sessions import create_session
from core.store.reader import Reader

async def main(path, synchronous):
    database = Database(path, synchronous=synchronous)
    reader = Reader(path)
    journal = Journal(database, reader)
    acks = os.open(path.with_name("acks"), os.O_WRONLY | os.O_CREAT)
    name = await create_session(journal, "/tmp", "t")
    os.write(acks, b"1")
    await database.run(lambda db: db.execute("PRAGMA wal_autocheckpoint = 20").fetchall(), no_transaction=True)
    for n in range(12):
        await journal.append(name, UserMessage(Text(f"{n} " + "word " * (n % 4 * 400))))
        os.write(acks, b"1")
        if n % 3 == 0:
            reader.sessions()  # has the derived rows written, without a sync
    reader.close()
    database.close()

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


@dataclass(frozen=True, slots=True)
class Op:
    """A system call that changes the disk, or `ack`: everything before it was acknowledged."""

    kind: str
    file: str = ""
    at: int = 0
    body: bytes = b""


def record(folder: Path, synchronous: str) -> list[Op]:
    """Run the writer and return its system calls in order."""
    folder.mkdir()
    log = folder / "log"
    options = ["-f", "-qq", "-y", "-xx", "-s", "1000000", "-o", str(log), "-e", CALLS]
    command = ["strace", *options, sys.executable, "-c", WRITER, str(folder / "a.db"), synchronous]
    subprocess.run(command, check=True, timeout=60, cwd=Path(__file__).parents[2])
    return [op for line in whole_lines(log) if (op := parse(line, folder))]


def whole_lines(log: Path) -> Iterator[str]:
    """Yield the calls of the log; a call that strace split in two counts where it was completed."""
    begun: dict[str, str] = {}
    for line in log.read_text().splitlines():
        thread, call = line.split(maxsplit=1)
        if call.endswith("<unfinished ...>"):
            begun[thread] = call.removesuffix("<unfinished ...>").rstrip()
        elif resumed := re.match(r"<\.\.\. \w+ resumed>\s*", call):
            yield begun.pop(thread) + call[resumed.end() :]
        else:
            yield call


def parse(line: str, folder: Path) -> Op | None:
    if gone := re.match(r'unlink\("([^"]*)"\)\s+= 0', line):
        return Op("gone", Path(unhex(gone[1]).decode()).name)
    found = re.match(r'(\w+)\(\d+<([^>]*)>(?:, "([^"]*)"(?:, \d+)?)?(?:, (\d+))?\)\s+= (\d+)', line)
    if not found:
        return None
    call, name, text, number, _ = found.groups()
    file = Path(unhex(name).decode())
    if file.parent != folder:
        return None
    if file.name == "acks":
        return Op("ack")
    kind = {"pwrite64": "write", "ftruncate": "cut", "fsync": "sync", "fdatasync": "sync"}.get(call)
    return Op(kind, file.name, int(number or 0), unhex(text or "")) if kind else None


def unhex(text: str) -> bytes:
    return bytes(int(part, 16) for part in text.split("\\x")[1:])


def apply_op(body: bytearray, op: Op) -> None:
    """Apply a call to the contents of a file."""
    end = op.at if op.kind == "cut" else op.at + len(op.body)
    body.extend(bytes(max(0, end - len(body))))
    if op.kind == "cut":
        del body[end:]
    else:
        body[op.at : end] = op.body


def cut_power(ops: list[Op], rng: random.Random) -> tuple[dict[str, bytearray], int]:
    """Return the disk after a power cut at a random moment, and the number of acknowledged events."""
    durable: dict[str, bytearray] = {}
    pending: dict[str, list[Op]] = {}
    acks = 0
    for op in ops[: rng.randint(1, len(ops))]:
        if op.kind == "ack":
            acks += 1
        elif op.kind == "gone":  # assume an unlink is durable at once; a journaling file system does it later
            pending.pop(op.file, None)
            durable.pop(op.file, None)
        elif op.kind == "sync":
            for each in pending.pop(op.file, []):
                apply_op(durable.setdefault(op.file, bytearray()), each)
        else:
            pending.setdefault(op.file, []).append(op)
    way = rng.choice(["none", "first", "any", "any"])
    for file, waiting in pending.items():
        for op in survivors(waiting, way, rng):
            apply_op(durable.setdefault(file, bytearray()), op)
    return durable, acks


def survivors(waiting: list[Op], way: str, rng: random.Random) -> Iterator[Op]:
    """Yield the unsynced writes that survive: none, the first ones, or any, some of them torn."""
    if way == "first":
        yield from waiting[: rng.randint(0, len(waiting))]
    elif way == "any":
        for op in waiting:
            luck = rng.random()
            if luck < 0.45:
                yield op
            elif luck < 0.6 and len(op.body) > SECTOR:
                yield Op(op.kind, op.file, op.at, op.body[: SECTOR * rng.randint(1, len(op.body) // SECTOR)])


def check_disk(disk: dict[str, bytearray], acks: int, folder: Path) -> str:
    """Return what a start finds on the disk: whole, lost, gap, damaged, or outdated if derived rows are wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, body in disk.items():
        if not name.endswith("-shm"):
            (folder / name).write_bytes(body)
    try:
        with closing(sqlite3.connect(folder / "a.db")) as db:
            if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                return "damaged"
            made = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'event'").fetchone()
            seqs = [row[0] & 0xFFFFFFFF for row in db.execute("SELECT id FROM event ORDER BY id")] if made else []
    except sqlite3.DatabaseError:
        return "damaged"
    if seqs != list(range(1, len(seqs) + 1)):
        return "gap"
    if made and not derived_rows_are_right(folder / "a.db"):
        return "outdated"
    return "lost" if len(seqs) < acks else "whole"


def derived_rows_are_right(path: Path) -> bool:
    """Return whether the rows derived from the events equal rebuilt ones, after a start."""
    Database(path).close()
    found = dump(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN")
        rebuild(db)
        db.execute("COMMIT")
    return dump(path) == found


@pytest.mark.skipif(not shutil.which("strace"), reason=REASON)
@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_a_power_cut_loses_nothing_with_full_sync(tmp_path: Path, synchronous: str, tried: CountFaults) -> None:
    rng = random.Random(7)
    ops = record(tmp_path / "run", synchronous)
    assert sum(op.kind == "ack" for op in ops) == 13
    found = [check_disk(*cut_power(ops, rng), tmp_path / "disk") for _ in range(IMAGES)]
    tried(IMAGES)
    if synchronous == "FULL":
        assert set(found) == {"whole"}
    else:  # proves that the images can fail: without a sync per commit, events are lost but nothing is damaged
        assert set(found) == {"whole", "lost"}
