"""Damage that a quick check cannot see: it is found by a check of everything, named in words, and repaired."""

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.domain.clock import SECOND
from core.store.data_folder import DATABASE_FILE, FileCheck, repair_data_folder
from core.store.database import Database
from core.store.integrity import (
    CHECK_EVERY,
    IntegrityCheck,
    IntegrityReport,
    damage_in,
    is_due,
    read_report,
    report_path,
    write_report,
)
from core.store.marker import write_marker
from tests.core.store.made import fill
from tests.core.store.test_data_folder import made, opened_and_closed, words


def break_index(path: Path) -> None:
    """Remove an entry from an index but not from its table, as a lost write would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = 1")
        kept = db.execute("SELECT sql FROM sqlite_schema WHERE name LIKE '%session_updated_at%'").fetchone()[0]
        changed = f"{kept} WHERE number > 1"
        db.execute("UPDATE sqlite_schema SET sql = ? WHERE sql = ?", (changed, kept))
        db.execute("PRAGMA writable_schema = RESET")
        db.execute("REINDEX")
        db.execute("PRAGMA writable_schema = 1")
        db.execute("UPDATE sqlite_schema SET sql = ? WHERE sql = ?", (kept, changed))


def break_event_page(path: Path) -> None:
    """Overwrite a page of events without changing the size and the time of the file."""
    before = path.stat()
    body = path.read_bytes()
    at = body.rindex(b'"line 100 word') // 4096 * 4096
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * 4096)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_intact_file_has_no_errors(tmp_path: Path) -> None:
    path = made(tmp_path, 20)
    assert IntegrityCheck(path).run() == ()
    assert repair_data_folder(tmp_path) == FileCheck()


def test_a_check_runs_while_the_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_FILE
    database = Database(path)
    fill(path, 5)
    assert IntegrityCheck(path).run() == ()
    database.close()


def test_an_interrupted_check_ends(tmp_path: Path) -> None:
    check = IntegrityCheck(made(tmp_path, 20))
    check.interrupt()
    with pytest.raises(sqlite3.OperationalError):
        check.run()


def test_damaged_indexes_are_rebuilt_at_the_next_start_and_nothing_is_lost(tmp_path: Path) -> None:
    path = made(tmp_path, 20)
    break_index(path)
    assert opened_and_closed(tmp_path).warnings == ()  # a quick check does not see it
    errors = IntegrityCheck(path).run()
    assert any("index" in error for error in errors)
    write_report(path, IntegrityReport(1, errors))
    assert "damaged indexes, which were rebuilt. Nothing was lost." in words(opened_and_closed(tmp_path).warnings)
    assert IntegrityCheck(path).run() == () and not report_path(path).exists()
    assert opened_and_closed(tmp_path).warnings == ()
    assert not list(tmp_path.glob("*.damaged-*"))


def test_damage_that_was_met_is_repaired_at_the_next_start_although_the_file_looks_unchanged(tmp_path: Path) -> None:
    path = made(tmp_path, 300)
    break_event_page(path)
    with closing(sqlite3.connect(path)) as db, pytest.raises(sqlite3.DatabaseError) as raised:
        db.execute("SELECT sum(length(payload)) FROM event").fetchone()
    found = damage_in(raised.value, path)
    assert "The data file is damaged." in str(found) and "journeyman db repair" in str(found)
    notes = words(opened_and_closed(tmp_path).warnings)
    assert re.search(r"repaired\. Recovered: \d+ events", notes) and "damaged-" in notes
    assert list(tmp_path.glob("*.damaged-*")) and not report_path(path).exists()


def test_a_repair_on_demand_needs_no_report(tmp_path: Path) -> None:
    path = made(tmp_path, 300)
    break_event_page(path)
    assert opened_and_closed(tmp_path).warnings == ()  # size and time are unchanged, so the start is quick
    assert "has been repaired" in words(repair_data_folder(tmp_path).warnings)
    assert IntegrityCheck(path).run() == ()


def test_a_missing_log_does_not_hide_damaged_indexes_from_a_repair_on_demand(tmp_path: Path) -> None:
    path = made(tmp_path, 20)
    break_index(path)
    write_marker(path, closed=False, events=20)
    notes = words(repair_data_folder(tmp_path).warnings)
    assert "newest events may be missing" in notes and "damaged indexes, which were rebuilt" in notes
    assert IntegrityCheck(path).run() == ()


def test_a_check_is_due_each_week_and_after_damage(tmp_path: Path) -> None:
    path, at = tmp_path / DATABASE_FILE, 1_000 * SECOND
    assert is_due(path, at)
    write_report(path, IntegrityReport(at))
    assert not is_due(path, at + CHECK_EVERY - 1)
    assert is_due(path, at + CHECK_EVERY) and is_due(path, at - 1)  # the clock was set back
    write_report(path, IntegrityReport(at, ("page 7 is broken",)))
    assert is_due(path, at)
    report_path(path).write_text("[]")
    assert read_report(path) is None


def test_other_errors_are_no_damage(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("no such table: x")
    assert damage_in(error, tmp_path / DATABASE_FILE) is error
