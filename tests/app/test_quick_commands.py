"""Commands that are answered without the engine: they print the same as with it, and only while nothing else is due."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.commands.quick import answer_quickly
from app.dispatch import dispatch
from app.main import main
from app.process.data_folder_lock import DataFolderLock
from core import __version__
from core.store.data_folder import DATABASE_FILE, open_data_folder
from core.store.integrity import IntegrityReport, report_path, write_report
from core.store.marker import write_marker
from tests.e2e.killed_run import program_environment

GOLDEN = Path(__file__).parents[1] / "golden" / "databases"
TITLE = "Fix the — café's menu"
HEAVY = ("argparse", "asyncio", "dataclasses", "json", "pathlib", "pydantic", "re", "typing")
IMPORTED = """
import sqlite3, sys
before = set(sys.modules)
from app.main import main
code = main(sys.argv[1:])
print(sorted(set(sys.modules) - before))
sys.exit(code)
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows answers all commands with the engine")


@pytest.fixture
def data(home: Path) -> Path:
    """A data folder with the golden sessions and one run, closed cleanly."""
    shutil.copy(max(GOLDEN.glob("v*.db")), home / DATABASE_FILE)
    (home / "work").mkdir()
    script = home / "script.json"
    call = {"name": "read", "arguments": {"path": "none"}}
    script.write_text(json.dumps({"replies": [{"text": "I look.", "calls": [call]}, {"text": "Done."}]}))
    assert main(["run", TITLE, "--script", str(script), "--mode", "auto", "-C", str(home / "work"), "-q"]) == 0
    return home


def ids(data: Path) -> list[str]:
    with closing(sqlite3.connect(data / DATABASE_FILE)) as db:
        return [name for (name,) in db.execute("SELECT id FROM session WHERE title = ?", (TITLE,))]


def change(data: Path, statement: str) -> None:
    """Change the closed file, and record that it was closed cleanly after it."""
    with closing(sqlite3.connect(data / DATABASE_FILE)) as db, db:
        db.execute(statement)
    write_marker(data / DATABASE_FILE, closed=True, events=1)


@pytest.mark.parametrize("words", ["sessions", "sessions --all", "sessions --archived", "sessions --trash", "show"])
def test_the_same_is_printed_as_with_the_engine(data: Path, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    [session] = ids(data)
    argv = [*words.split(), *([session[:5]] if words == "show" else [])]
    capfd.readouterr()
    assert answer_quickly(argv)
    quick = capfd.readouterr().out
    assert dispatch(argv) == 0
    assert capfd.readouterr().out == quick and quick.endswith("\n")
    for place in (["--data-dir", str(data)], [f"--data-dir={data}"]):
        assert answer_quickly([*place, *argv])
        assert capfd.readouterr().out == quick


def test_the_version_needs_no_data(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    home.rmdir()
    for option in ("-V", "--version"):
        assert main([option]) == 0
        assert capfd.readouterr().out == f"journeyman {__version__}\n"
    assert not answer_quickly(["sessions"]) and not home.exists()


@pytest.mark.parametrize("words", ["--version", "sessions", "show"])
def test_nothing_slow_is_imported(data: Path, words: str) -> None:
    argv = [words, *(ids(data) if words == "show" else [])]
    command = [sys.executable, "-P", "-c", IMPORTED, *argv]
    done = subprocess.run(
        command, capture_output=True, text=True, env=program_environment(data), timeout=60, check=True
    )
    imported = done.stdout.splitlines()[-1]
    assert "app.commands.quick" in imported and not [name for name in HEAVY if f"'{name}'" in imported]


def test_other_forms_are_left_to_the_parser(data: Path) -> None:
    [session] = ids(data)
    for argv in (
        [], ["sessions", "--json"], ["sessions", "--search", "x"], ["show", session, "--json"], ["show"],
        ["show", "--x"],
        ["show", "none"], ["show", ""], ["--data-dir", "", "sessions"], ["--data-dir", "--x", "sessions"], ["run", "x"],
    ):  # fmt: skip
        assert not answer_quickly(argv), argv


def test_hidden_characters_are_left_to_the_engine(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    change(data, f"UPDATE session SET title = 'gpj\u202eexe' WHERE title = '{TITLE}'".replace("'s menu", "''s menu"))
    assert not answer_quickly(["sessions"])
    capfd.readouterr()
    assert main(["sessions"]) == 0 and "gpj⟦U+202E⟧exe" in capfd.readouterr().out


def test_a_run_that_a_crash_ended_is_recovered(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    [session] = ids(data)
    change(data, f"UPDATE session SET status = 'running' WHERE id = '{session}'")
    assert not answer_quickly(["sessions"]) and not answer_quickly(["show", session])
    capfd.readouterr()
    assert main(["show", session]) == 0 and "· interrupted ·" in capfd.readouterr().out
    assert answer_quickly(["show", session])


def test_rows_that_were_not_written_are_derived(data: Path) -> None:
    [session] = ids(data)
    change(data, f"UPDATE session SET last_seq = last_seq - 1 WHERE id = '{session}'")
    assert not answer_quickly(["sessions"]) and not answer_quickly(["show", session])
    assert main(["sessions"]) == 0
    assert answer_quickly(["sessions"]) and answer_quickly(["show", session])


def test_a_file_that_was_not_closed_cleanly_is_checked(data: Path) -> None:
    path = data / DATABASE_FILE
    assert answer_quickly(["sessions"])
    write_marker(path, closed=False, events=1)
    assert not answer_quickly(["sessions"])
    write_marker(path, closed=True, events=1)
    write_report(path, IntegrityReport(1))
    assert answer_quickly(["sessions"])
    write_report(path, IntegrityReport(1, ("a page is damaged",)))
    assert not answer_quickly(["sessions"])
    report_path(path).unlink()
    change(data, "PRAGMA user_version = 18")
    assert not answer_quickly(["sessions"])


def test_a_folder_in_use_is_read_at_once(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    assert answer_quickly(["sessions"])
    before = capfd.readouterr().out
    lock = DataFolderLock(data / "lock")
    assert lock.acquire()
    try:
        opened = open_data_folder(data)
        assert opened.database is not None
        assert answer_quickly(["sessions"]) and capfd.readouterr().out == before
        opened.database.close()
    finally:
        lock.release()
    assert lock.acquire()  # no quick command has kept it
    lock.release()
