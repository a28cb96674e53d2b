"""Opening the data folder: whatever state the file is in, nothing is lost silently and the messages are accurate."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from core.domain.problems import ErrorDetails, Problem
from core.store.backup import back_up, quantity, restore
from core.store.data_folder import DATABASE_FILE, DataFolder, open_data_folder
from core.store.database import Database
from core.store.marker import marker_path, read_marker
from core.store.reader import Reader
from tests.core.store.made import dump, every_kind, fill

FACTS = 1 + len(every_kind())  # events of a session made without extra ones
ALL = 300 + FACTS
PAGE_GONE = (ALL - 7, ALL - 1)  # A page holds one to seven of these events.


def test_V_B6_each_commit_is_synced_and_a_transaction_is_undone_as_a_whole(tmp_path: Path) -> None:
    opened = open_data_folder(tmp_path)
    database = opened.database
    assert database is not None

    def fail(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO event (id, run, at, kind, payload) VALUES (1, 0, 0, 'user_message', '{}')")
        raise ValueError("the second half of the action")

    async def work() -> None:
        assert await database.run(lambda db: db.execute("PRAGMA synchronous").fetchone()) == (2,)  # FULL
        assert await database.run(lambda db: db.execute("PRAGMA journal_mode").fetchone()) == ("wal",)
        with pytest.raises(ValueError, match="second half"):
            await database.run(fail)
        assert await database.run(lambda db: db.execute("SELECT count(*) FROM event").fetchone()) == (0,)

    try:
        asyncio.run(work())
    finally:
        database.close()


def opened_and_closed(folder: Path) -> DataFolder:
    opened = open_data_folder(folder)
    assert opened.database is not None
    opened.database.close()
    return opened


def made(folder: Path, facts: int = 0, sessions: int = 1) -> Path:
    """Return the path of a data file in a folder that was closed cleanly."""
    opened_and_closed(folder)
    path = folder / DATABASE_FILE
    fill(path, facts, sessions=sessions)
    opened_and_closed(folder)
    return path


def crashed(path: Path) -> None:
    """Leave the files as after a kill: the marker says open, and the newest events are in the WAL only."""
    copies = path.parent / "copies"
    copies.mkdir()
    opened = open_data_folder(path.parent)
    assert opened.database is not None
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM session").fetchone()
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute("INSERT INTO pending_request VALUES ('late', 1, 13)")
    for file in path.parent.glob("journeyman.*"):
        shutil.copy2(file, copies)
    reader.close()
    writer.close()
    opened.database.close()
    for file in copies.iterdir():
        shutil.copy2(file, path.parent)
    shutil.rmtree(copies)


def left_behind(path: Path) -> None:
    """Leave an event without derived rows, as after a kill, in the WAL only."""
    with closing(sqlite3.connect(path, isolation_level=None)) as keep, closing(sqlite3.connect(path)) as writer:
        keep.execute("SELECT count(*) FROM event").fetchone()
        with writer:
            writer.execute("UPDATE session SET last_seq = last_seq - 1")
        copies = {file: file.read_bytes() for file in path.parent.glob("journeyman.*")}
    for file, body in copies.items():
        file.write_bytes(body)


def words(notes: tuple[ErrorDetails, ...]) -> str:
    return " ".join(f"{note.message} {note.cause} {note.fix}" for note in notes)


def test_a_new_folder_is_private_and_so_is_every_file(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "data"
    opened = open_data_folder(folder)
    assert opened.warnings == () and opened.database is not None
    assert folder.stat().st_mode & 0o777 == 0o700
    files = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}
    assert set(files.values()) == {0o600}
    assert {
        DATABASE_FILE,
        f"{DATABASE_FILE}-wal",
        f"{DATABASE_FILE}-shm",
        "journeyman.mark",
        "journeyman.ballast",
    } == files.keys()
    opened.database.close()
    assert not (folder / f"{DATABASE_FILE}-wal").exists()


def test_a_shared_folder_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("x")
    tmp_path.chmod(0o755)
    opened_and_closed(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_clean_close_is_recorded_and_the_next_start_reports_nothing(tmp_path: Path) -> None:
    path = made(tmp_path)
    marker = read_marker(path)
    assert marker is not None and marker.closed and marker.events == FACTS
    before = dump(path)
    assert opened_and_closed(tmp_path).warnings == ()
    assert dump(path) == before


def test_after_a_crash_the_write_ahead_log_is_read_and_nothing_is_reported(tmp_path: Path) -> None:
    path = made(tmp_path)
    crashed(path)
    marker = read_marker(path)
    assert marker is not None and not marker.closed
    assert opened_and_closed(tmp_path).warnings == ()
    assert ("late", 1, 13) in dump(path)["pending_request"]


@pytest.mark.parametrize("hot", [False, True])
def test_a_newer_file_is_refused_unchanged(tmp_path: Path, hot: bool) -> None:
    path = made(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    if hot:
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("PRAGMA wal_autocheckpoint = 0")
        reader.execute("PRAGMA user_version = 998")
        for file in tmp_path.glob(f"{DATABASE_FILE}*"):
            shutil.copy(file, tmp_path / file.name.replace("journeyman", "kept"))
        reader.close()
        for file in tmp_path.glob("kept*"):
            file.replace(tmp_path / file.name.replace("kept", "journeyman"))
    before = {file: file.read_bytes() for file in (path, tmp_path / f"{DATABASE_FILE}-wal") if file.exists()}
    assert len(before) == 1 + hot
    with pytest.raises(Problem, match=r"newer Journeyman \(schema 99.*nothing was changed.*Update"):
        open_data_folder(tmp_path)
    with pytest.raises(Problem, match="newer Journeyman"):
        Database(path)
    assert {file: file.read_bytes() for file in before} == before


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_FILE
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (a)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(Problem, match="does not belong to Journeyman"):
        open_data_folder(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("how", ["missing", "empty"])
@pytest.mark.parametrize("backup", [False, True])
def test_a_missing_file_is_not_recreated(tmp_path: Path, how: str, backup: bool) -> None:
    path = made(tmp_path)
    before = dump(path)
    if backup:
        back_up(path)
    path.unlink()
    if how == "empty":
        path.touch()
    says = rf"backup, journeyman-.*\.db \({FACTS} events in 1 session\)" if backup else "There is no valid backup"
    for _ in range(2):
        with pytest.raises(Problem, match=says) as caught:
            open_data_folder(tmp_path)
    assert how in caught.value.details.message
    assert path.exists() == (how == "empty")
    if backup:
        restore(path, next((tmp_path / "backups").iterdir()))
        assert opened_and_closed(tmp_path).warnings == ()
        assert dump(path) == before
    else:
        marker_path(path).rename(tmp_path / "away")
        assert opened_and_closed(tmp_path).warnings == ()


def test_an_empty_folder_may_start_again(tmp_path: Path) -> None:
    opened_and_closed(tmp_path)
    (tmp_path / DATABASE_FILE).unlink()
    assert opened_and_closed(tmp_path).warnings == ()


def _half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _no_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(100))


def _no_first_page(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(4096))


def _text(path: Path) -> None:
    path.write_text("This is a letter, not a database.\n" * 50)


def _one_page(path: Path) -> None:
    """Overwrite a page that contains events."""
    body = path.read_bytes()
    at = body.rindex(b'"line 100 word') // 4096 * 4096
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * 4096)


@pytest.mark.parametrize(
    ("damage", "least", "most"),
    [(_half, 20, 300), (_no_header, ALL, ALL), (_no_first_page, ALL, ALL), (_text, 0, 0), (_one_page, *PAGE_GONE)],
)
@pytest.mark.parametrize("backup", [False, True])
def test_a_damaged_file_is_set_aside_and_readable_data_is_salvaged(
    tmp_path: Path, damage: Callable[[Path], None], least: int, most: int, backup: bool
) -> None:
    path = made(tmp_path, 300)
    before = dump(path)
    if backup:
        back_up(path)
    damage(path)
    broken = path.read_bytes()
    opened = opened_and_closed(tmp_path)
    (note,) = opened.warnings
    (aside,) = (file for file in tmp_path.glob(f"{DATABASE_FILE}.damaged-*") if file.name[-4:] not in {"-wal", "-shm"})
    assert aside.read_bytes() == broken and aside.name in note.fix and "repaired" in note.message
    after = dump(path)
    assert set(after["event"]) <= set(before["event"])
    if backup:
        assert after == before
    else:
        assert least <= len(after["event"]) <= most
        assert f"Recovered: {quantity(len(after['event']), 'event')} in" in note.cause
    if not backup:
        lost = ALL - len(after["event"])
        assert f"known to be lost: {quantity(lost, 'event') if lost else 'none'}" in note.cause
    if damage is _one_page and not backup:
        seqs = [row[0] & 0xFFFFFFFF for row in after["event"]]
        assert seqs[-1] == ALL and seqs == sorted(seqs)  # The gap in the sequence remains.
        assert after["session"][0][1] == before["session"][0][1]
    assert opened_and_closed(tmp_path).warnings == ()


def test_damage_is_found_after_a_clean_close(tmp_path: Path) -> None:
    path = made(tmp_path, 300)
    found = path.stat()
    _one_page(path)
    assert "repaired" in words(opened_and_closed(tmp_path).warnings), found


def test_a_damaged_file_is_set_aside_with_its_log(tmp_path: Path) -> None:
    path = made(tmp_path, 20)
    crashed(path)
    _no_header(path)
    log = path.with_name(f"{DATABASE_FILE}-wal").read_bytes()
    opened = opened_and_closed(tmp_path)
    assert f"{20 + FACTS} events" in words(opened.warnings)
    assert next(tmp_path.glob(f"{DATABASE_FILE}.damaged-*-wal")).read_bytes() == log


@pytest.mark.parametrize("moved", [1, 2])
def test_an_interrupted_repair_is_completed(tmp_path: Path, moved: int) -> None:
    path = made(tmp_path)
    before = dump(path)
    crashed(path)
    shutil.copy(path, tmp_path / f"{DATABASE_FILE}.next")
    path.rename(tmp_path / f"{DATABASE_FILE}.damaged-20250131-120000")
    if moved == 2:
        (tmp_path / f"{DATABASE_FILE}-wal").rename(tmp_path / f"{DATABASE_FILE}.damaged-20250131-120000-wal")
    assert "repaired" not in words(opened_and_closed(tmp_path).warnings)
    assert dump(path) == before
    assert (tmp_path / f"{DATABASE_FILE}.damaged-20250131-120000-wal").exists()


def test_a_missing_log_is_reported(tmp_path: Path) -> None:
    path = made(tmp_path)
    crashed(path)
    (tmp_path / f"{DATABASE_FILE}-wal").unlink()
    assert "newest events may be missing" in words(opened_and_closed(tmp_path).warnings)
    assert opened_and_closed(tmp_path).warnings == ()


def test_a_garbled_log_index_does_no_harm(tmp_path: Path) -> None:
    path = made(tmp_path)
    crashed(path)
    (tmp_path / f"{DATABASE_FILE}-shm").write_bytes(b"\xa5" * 32768)
    assert opened_and_closed(tmp_path).warnings == ()
    assert ("late", 1, 13) in dump(path)["pending_request"]


def test_an_unreadable_marker_only_causes_a_full_check(tmp_path: Path) -> None:
    path = made(tmp_path)
    marker_path(path).write_text("{half")
    assert "repaired" not in words(opened_and_closed(tmp_path).warnings)


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Problem, match="data folder is not accessible"):
        open_data_folder(tmp_path / "file" / "data")


VIEW = """
import sys
from pathlib import Path
from core.store.data_folder import open_data_folder
from core.store.reader import Reader
from core.domain.problems import Problem
try:
    opened = open_data_folder(Path(sys.argv[1]))
except Problem as problem:
    print("problem", problem)
else:
    reader = Reader(opened.path, immutable=opened.immutable)
    print(opened.database, len(reader.sessions()), *(warning.message for warning in opened.warnings))
"""


def seen_read_only(folder: Path) -> str:
    """Return the output of a process that may read the folder but not write to it."""
    command = [sys.executable, "-c", VIEW, str(folder)]
    if os.geteuid() == 0:  # Permissions do not restrict root, but a read-only mount does.
        script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && shift && exec "$@"'
        command = ["unshare", "--mount", "sh", "-c", script, str(folder), "", *command]
    else:
        folder.chmod(0o500)
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    folder.chmod(0o700)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="a folder nobody can write to is made with Linux's mounts")
def test_a_folder_that_cannot_be_written_can_be_viewed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    path = made(folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert seen_read_only(folder) == "None 1 The data is read-only. Nothing can be changed or run."
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    crashed(path)
    assert seen_read_only(folder) == "None 1 The data is read-only. Nothing can be changed or run."
    left_behind(path)
    assert seen_read_only(folder).endswith("Nothing can be changed or run. The newest events are not shown.")
    path.with_name(f"{DATABASE_FILE}-shm").unlink()
    assert seen_read_only(folder).startswith("problem The newest events cannot be read here.")
    path.with_name(f"{DATABASE_FILE}-wal").unlink()
    _half(path)
    assert seen_read_only(folder).startswith("problem The data file is damaged and cannot be repaired here.")
    path.unlink()
    assert seen_read_only(folder).startswith("problem There is no data to show.")


def test_a_repaired_session_can_be_continued(tmp_path: Path) -> None:
    path = made(tmp_path, 300, sessions=2)
    _one_page(path)
    opened_and_closed(tmp_path)
    fill(path)
    reader = Reader(path)
    try:
        assert len(reader.sessions()) == 3
    finally:
        reader.close()
