"""A kill, a full disk or a disk error at each write: no acknowledged event is lost, and the error says what to do.

An ordinary test run tries every third write of the long series; with EVERY_FAULT=1 it tries all of them.
"""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.store.backup import newest_valid_backup, verify
from core.store.data_folder import DATABASE_FILE, open_data_folder
from core.store.migrate import migrate, schema_version
from core.store.rebuild import rebuild
from tests.core.store.made import dump, fill
from tests.faults.conftest import FaultInjector
from tests.faults.tally import CountFaults

FULL = "The disk is full. database or disk is full. Free some space, then try again. Everything shown so far is saved."
FAILS = "The disk reported an error. disk I/O error. Check the disk. Everything shown before the error is saved."
KNOWN = 18  # facts that were there before
STRIDE = 1 if os.environ.get("EVERY_FAULT") else 3


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cleanly closed data folder with a session and a backup."""
    folder = tmp_path_factory.mktemp("whole") / "data"
    for _ in range(2):
        opened = open_data_folder(folder)
        assert opened.database is not None
        opened.database.close()
        if not opened.path.with_name("kept").exists():
            fill(opened.path)
            opened.path.with_name("kept").touch()
    return folder


class Case:
    """A copy of the data folder for one fault, and the notes the job wrote next to it."""

    def __init__(self, whole: Path, place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        self.folder = place / "data"
        shutil.copytree(whole, self.folder)
        self.path = self.folder / DATABASE_FILE
        self.data = (self.path, self.folder / f"{DATABASE_FILE}-wal")

    def noted(self, name: str) -> list[str]:
        file = self.folder.parent / name
        return file.read_text().splitlines() if file.exists() else []


def check(case: Case, *, more: int) -> list[str]:
    """Check that the remaining data is intact and has every acknowledged event and at most `more` others.

    After the next start, the rows derived from the events equal rebuilt ones.
    """
    acks = case.noted("acks")
    opened = open_data_folder(case.folder)
    assert opened.database is not None
    opened.database.close()
    assert opened.warnings == ()
    found = dump(case.path)
    seqs = [row[0] & 0xFFFFFFFF for row in found["event"]]
    assert seqs == list(range(1, len(seqs) + 1))
    assert KNOWN + len(acks) <= len(seqs) <= KNOWN + len(acks) + more
    assert acks == [str(KNOWN + n) for n in range(1, len(acks) + 1)]
    with closing(sqlite3.connect(case.path, isolation_level=None)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.execute("BEGIN")
        rebuild(db)
        db.execute("COMMIT")
    assert dump(case.path) == found
    return acks


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
def test_a_kill_at_each_write_loses_nothing(
    faults: FaultInjector, whole: Path, tmp_path: Path, call: str, tried: CountFaults
) -> None:
    case = Case(whole, tmp_path / "0")
    points = faults.count("append", case.folder, call, *case.data)
    assert points >= 3 and check(case, more=0) == ["19", "20", "21"]
    for k in range(1, points + 1, STRIDE if call == "pwrite64" else 1):
        case = Case(whole, tmp_path / "1")
        tried(1)
        assert faults.run("append", case.folder, f"{call}:signal=SIGKILL:when={k}", *case.data) == -9
        check(case, more=1)


def test_a_full_disk_at_each_write_is_relieved(
    faults: FaultInjector, whole: Path, tmp_path: Path, tried: CountFaults
) -> None:
    case = Case(whole, tmp_path / "0")
    points = faults.count("append", case.folder, "pwrite64", *case.data)
    relieved = 0
    for k in range(1, points + 1, STRIDE):
        case = Case(whole, tmp_path / "1")
        tried(1)
        assert faults.run("append", case.folder, f"pwrite64:error=ENOSPC:when={k}", *case.data) == 0
        assert len(check(case, more=0)) == 3 and case.noted("said") == []
        relieved += len(case.noted("reliefs"))
    # The other writes are those of the WAL checkpoint and of derived rows, which may fail without loss.
    assert relieved >= points // STRIDE // 5


def test_a_disk_that_stays_full_is_reported_and_nothing_is_half_written(
    faults: FaultInjector, whole: Path, tmp_path: Path, tried: CountFaults
) -> None:
    case = Case(whole, tmp_path / "0")
    points = faults.count("append", case.folder, "pwrite64", *case.data)
    for k in range(1, points + 1, 2 * STRIDE):
        case = Case(whole, tmp_path / "1")
        tried(1)
        assert faults.run("append", case.folder, f"pwrite64:error=ENOSPC:when={k}+", *case.data) == 0
        acks = check(case, more=0)
        assert case.noted("said") == [FULL] * (3 - len(acks))


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
def test_a_disk_error_is_reported_and_never_acknowledged(
    faults: FaultInjector, whole: Path, tmp_path: Path, call: str, tried: CountFaults
) -> None:
    case = Case(whole, tmp_path / "0")
    points = faults.count("append", case.folder, call, *case.data)
    for k in range(1, points + 1, STRIDE if call == "pwrite64" else 1):
        case = Case(whole, tmp_path / "1")
        tried(1)
        assert faults.run("append", case.folder, f"{call}:error=EIO:when={k}", *case.data) == 0
        said = case.noted("said")
        assert set(said) <= {FAILS} and len(said) <= 1
        acks = len(case.noted("acks"))
        assert acks + len(said) == 3 or (acks, len(said)) == (0, 1)


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of an older version, and the migration it lacks."""
    folder = tmp_path_factory.mktemp("older") / "data"
    (folder / "migrations").mkdir(parents=True)
    (folder / "migrations" / "0001_start.sql").write_text("CREATE TABLE a (x INTEGER PRIMARY KEY, y TEXT);\n")
    with closing(sqlite3.connect(folder / DATABASE_FILE, isolation_level=None)) as db:
        migrate(db, folder / "migrations")
        db.executemany("INSERT INTO a VALUES (?, ?)", [(n, "y" * 300) for n in range(40)])
    (folder / "migrations" / "0002_more.sql").write_text(
        "ALTER TABLE a ADD COLUMN z TEXT;\nUPDATE a SET z = y || x;\n"
        "CREATE TABLE b AS SELECT * FROM a;\nDROP TABLE a;\n"
    )
    return folder


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
def test_a_kill_at_each_write_of_a_migration_leaves_the_old_or_the_new_version(
    faults: FaultInjector, older: Path, tmp_path: Path, call: str, tried: CountFaults
) -> None:
    case = Case(older, tmp_path / "0")
    points = faults.count("migrate_file", case.folder, call, *case.data)
    assert points > 3
    for k in range(1, points + 1):
        case = Case(older, tmp_path / "1")
        tried(1)
        assert faults.run("migrate_file", case.folder, f"{call}:signal=SIGKILL:when={k}", *case.data) == -9
        with closing(sqlite3.connect(case.path, isolation_level=None)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            table = {1: "a", 2: "b"}[schema_version(db)]
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (40,)
            migrate(db, case.folder / "migrations")
            assert schema_version(db) == 2
            assert db.execute("SELECT count(*), sum(z = y || x) FROM b").fetchone() == (40, 40)


def test_a_kill_while_copying_leaves_no_half_copy(
    faults: FaultInjector, whole: Path, tmp_path: Path, tried: CountFaults
) -> None:
    case = Case(whole, tmp_path / "0")
    target = case.folder / "backups" / "journeyman-2025-01-31.db"
    part = target.with_name(target.name + ".part")
    points = faults.count("back_up_file", case.folder, "pwrite64", part)
    assert points > 10
    for k in range(1, points + 1, 4):
        case = Case(whole, tmp_path / "1")
        tried(1)
        target = case.folder / "backups" / "journeyman-2025-01-31.db"
        part = target.with_name(target.name + ".part")
        assert faults.run("back_up_file", case.folder, f"pwrite64:signal=SIGKILL:when={k}", part) == -9
        assert not target.exists() and newest_valid_backup(case.path) is None


@pytest.mark.parametrize("call", ["rename", "fsync", "unlink"])
@pytest.mark.parametrize("work", ["salvage_file", "restore_backup", "back_up_file"])
def test_a_kill_while_files_are_replaced_loses_nothing(
    faults: FaultInjector, whole: Path, tmp_path: Path, work: str, call: str, tried: CountFaults
) -> None:
    def fresh(name: str) -> Case:
        case = Case(whole, tmp_path / name)
        if work == "restore_backup":
            with closing(sqlite3.connect(f"file:{case.path}?mode=ro", uri=True)) as db:
                (case.folder / "backups").mkdir()
                db.execute("VACUUM INTO ?", (str(case.folder / "backups" / "journeyman-2025-01-31.db"),))
        return case

    before = dump(fresh("before").path)["event"]
    case = fresh("0")
    points = faults.count(work, case.folder, call)
    for k in range(1, points + 1):
        case = fresh("1")
        tried(1)
        assert faults.run(work, case.folder, f"{call}:signal=SIGKILL:when={k}") == -9
        opened = open_data_folder(case.folder)
        assert opened.database is not None
        opened.database.close()
        assert dump(case.path)["event"] == before
        assert all(verify(each).is_valid for each in (case.folder / "backups").glob("*.db"))
