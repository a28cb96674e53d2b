"""Backups: verified before they count, thinned out, and restored without loss."""

import asyncio
import errno
import os
import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest

from core.domain.events import UserMessage
from core.domain.problems import Problem
from core.domain.text import Text
from core.store.backup import (
    back_up,
    back_up_before_migration,
    back_up_daily,
    newest_valid_backup,
    restore,
    verified_backups,
    verify,
)
from core.store.compact import compact
from core.store.data_folder import DATABASE_FILE, open_data_folder
from core.store.files import sync
from tests.core.store.made import dump, fill, journal_at
from tests.sessions import create_session

DAY = date(2025, 1, 31)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "data" / DATABASE_FILE
    opened = open_data_folder(path.parent)
    assert opened.database is not None
    opened.database.close()
    fill(path, 50)
    return path


def spoil(path: Path) -> None:
    """Overwrite one page of data. The first half of the file are empty tables and indexes, which a copy recreates."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size * 3 // 4 // 4096 * 4096)
        file.write(b"\xa5" * 4096)


def names(path: Path) -> list[str]:
    return sorted(item.name for item in (path.parent / "backups").iterdir())


def test_a_backup_is_complete_private_and_made_once_a_day(path: Path) -> None:
    made = back_up_daily(path, DAY)
    assert made is not None and made.is_valid and made.health.events == 68
    assert made.summary == "journeyman-2025-01-31.db (68 events in 1 session)"
    assert made.path.stat().st_mode & 0o777 == 0o600 and made.path.parent.stat().st_mode & 0o777 == 0o700
    assert dump(made.path) == dump(path)
    assert back_up_daily(path, DAY) is None
    assert back_up_daily(path, DAY + timedelta(1)) is not None
    assert names(path) == ["journeyman-2025-01-31.db", "journeyman-2025-02-01.db"]


def test_a_backup_is_made_while_events_are_written(path: Path) -> None:
    with journal_at(path) as (journal, _reader, _):

        async def work() -> None:
            name = await create_session(journal, "/tmp", "t")
            copying = asyncio.get_running_loop().run_in_executor(None, back_up, path, DAY)
            count = 0
            while not copying.done() or count < 5:
                await journal.append(name, UserMessage(Text("meanwhile")))
                count += 1
            made = await copying
            assert made.is_valid and 68 <= made.health.events <= 69 + count

        asyncio.run(work())


def test_seven_daily_backups_are_kept(path: Path) -> None:
    for n in range(50):
        back_up(path, DAY + timedelta(n)) if n > 41 else (path.parent / "backups").mkdir(exist_ok=True)
        kept = path.parent / "backups" / f"journeyman-{DAY + timedelta(n)}.db"
        kept.write_bytes(kept.read_bytes() if kept.exists() else b"old")
    for n in range(5):
        back_up_before_migration(path, n + 2, DAY)
    assert names(path) == sorted(
        [f"journeyman-{DAY + timedelta(n)}.db" for n in range(43, 50)]
        + [f"journeyman-2025-01-31-before-v000{n}.db" for n in (4, 5, 6)]
    )


def test_a_bad_backup_never_replaces_a_good_one(path: Path) -> None:
    good = back_up(path, DAY).path.read_bytes()
    spoil(path)
    with pytest.raises(Problem, match=r"The backup failed\..*older backups were kept"):
        back_up(path, DAY)
    assert names(path) == ["journeyman-2025-01-31.db"]
    assert (path.parent / "backups" / "journeyman-2025-01-31.db").read_bytes() == good


def test_a_bad_newest_backup_is_skipped(path: Path) -> None:
    back_up(path, DAY)
    back_up(path, DAY + timedelta(1))
    newest = back_up_before_migration(path, 9, DAY + timedelta(1))
    assert next(each.path.name for each in verified_backups(path)) == "journeyman-2025-02-01.db"
    spoil(path.parent / "backups" / "journeyman-2025-02-01.db")
    spoil(newest.path)
    assert [each.is_valid for each in verified_backups(path)] == [False, False, True]
    found = newest_valid_backup(path)
    assert found is not None and found.path.name == "journeyman-2025-01-31.db"
    assert not verify(newest.path).is_valid and verify(newest.path).health.state == "damaged"


def test_restoring_sets_the_current_file_aside(path: Path) -> None:
    made = back_up(path, DAY)
    then = dump(path)
    fill(path, 5)
    now = dump(path)
    aside = restore(path, made.path)
    assert aside is not None and ".replaced-" in aside.name
    assert dump(path) == then and dump(aside) == now
    opened = open_data_folder(path.parent)
    assert opened.database is not None and opened.warnings == ()
    opened.database.close()
    again = restore(path, made.path)
    assert again is not None and again != aside and aside.exists()


def test_a_restoration_without_a_new_marker_says_that_the_data_was_replaced(path: Path) -> None:
    made = back_up(path, DAY)
    then = dump(path)
    fill(path, 5)
    path.with_suffix(".mark.part").mkdir()
    with pytest.raises(Problem, match="The backup was restored") as raised:
        restore(path, made.path)
    assert "not changed" not in str(raised.value) and dump(path) == then


def test_a_restoration_that_fails_half_way_is_completed_at_the_next_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = back_up(path, DAY)
    then = dump(path)
    fill(path, 5)

    def sync_or_fail(part: Path) -> None:
        if not path.exists():
            raise OSError(errno.EIO, "Input/output error")
        sync(part)

    with monkeypatch.context() as patch, pytest.raises(Problem, match="could not be restored") as raised:
        patch.setattr("core.store.files.sync", sync_or_fail)
        restore(path, made.path)
    assert "was set aside" in raised.value.details.fix
    opened = open_data_folder(path.parent)
    assert opened.database is not None
    opened.database.close()
    assert dump(path)["event"] == then["event"]


def test_a_bad_backup_is_not_restored(path: Path) -> None:
    made = back_up(path, DAY)
    spoil(made.path)
    before = dump(path)
    with pytest.raises(Problem, match="cannot be restored"):
        restore(path, made.path)
    with pytest.raises(Problem, match="The file is missing"):
        restore(path, path.parent / "nowhere.db")
    assert dump(path) == before


def test_an_unwritable_folder_is_reported(path: Path) -> None:
    (path.parent / "backups").write_text("a file in the way")
    with pytest.raises(Problem, match="data folder is not accessible"):
        back_up(path)


def test_partial_backups_left_by_a_crash_are_removed(path: Path) -> None:
    folder = path.parent / "backups"
    folder.mkdir()
    abandoned, growing = (folder / f"journeyman-2025-01-{day}.db.part" for day in (29, 30))
    for partial in (abandoned, growing):
        partial.write_bytes(b"half")
    os.utime(abandoned, (0, 0))
    back_up(path, DAY)
    assert names(path) == ["journeyman-2025-01-30.db.part", "journeyman-2025-01-31.db"]


def test_compacting_frees_space(path: Path) -> None:
    with journal_at(path) as (journal, reader, database):

        async def work() -> None:
            name = await create_session(journal, "/tmp", "t")
            body = os.urandom(2_000_000)
            await journal.append(name, UserMessage(Text("large")), blobs={"b" * 64: body})
            await database.run(lambda db: db.execute("DELETE FROM blob WHERE hash = ?", ("b" * 64,)))
            before = reader.sessions()
            done = await database.run(compact, no_transaction=True)
            assert done.after < done.before - 1_900_000
            assert reader.sessions() == before and next(hit.seq for hit in reader.search("large")) == 2

        asyncio.run(work())
    assert path.stat().st_size < 1_000_000


def test_no_other_file_is_taken_for_a_backup(path: Path) -> None:
    back_up(path, DAY)
    for name in ("journeyman-mine.db", "notes.txt", "journeyman-2025-01-31.db.bak"):
        (path.parent / "backups" / name).write_text("mine")
    assert [each.path.name for each in verified_backups(path)] == ["journeyman-2025-01-31.db"]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA quick_check").fetchone() == ("ok",)
