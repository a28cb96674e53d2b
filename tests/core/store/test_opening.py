"""Opening the data folder: whatever state the file is in, nothing is lost silently and the words say what is."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.domain.problems import Problem, Trouble
from core.store.backup import back_up, restore
from core.store.database import Database
from core.store.marker import marker_of, read_marker
from core.store.opening import FILE, Opened, open_data
from core.store.reader import Reader
from tests.core.store.made import dump, every_kind, fill

FACTS = 1 + len(every_kind())  # of a made session without more lines
ALL = 300 + FACTS
PAGE_GONE = (ALL - 7, ALL - 1)  # one page holds this few


def opened_and_closed(folder: Path) -> Opened:
    opened = open_data(folder)
    assert opened.database is not None
    opened.database.close()
    return opened


def made(folder: Path, facts: int = 0, sessions: int = 1) -> Path:
    """A folder with data, closed in order."""
    opened_and_closed(folder)
    path = folder / FILE
    fill(path, facts, sessions=sessions)
    opened_and_closed(folder)
    return path


def crashed(path: Path) -> None:
    """Leave the files as a kill does: the marker says open, the newest facts are in the log only."""
    copies = path.parent / "copies"
    copies.mkdir()
    opened = open_data(path.parent)
    assert opened.database is not None
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM session").fetchone()
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute("INSERT INTO question VALUES ('late', 1, 13)")
    for file in path.parent.glob("journeyman.*"):
        shutil.copy2(file, copies)
    reader.close()
    writer.close()
    opened.database.close()
    for file in copies.iterdir():
        shutil.copy2(file, path.parent)
    shutil.rmtree(copies)


def words(notes: tuple[Trouble, ...]) -> str:
    return " ".join(f"{note.what} {note.why} {note.do}" for note in notes)


def test_a_new_folder_is_private_and_so_is_every_file(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "data"
    opened = open_data(folder)
    assert opened.notes == () and opened.database is not None
    assert folder.stat().st_mode & 0o777 == 0o700
    files = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}
    assert set(files.values()) == {0o600}
    assert {FILE, f"{FILE}-wal", f"{FILE}-shm", "journeyman.mark", "journeyman.ballast"} == files.keys()
    opened.database.close()
    assert not (folder / f"{FILE}-wal").exists()


def test_a_folder_that_others_use_keeps_its_rights(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("x")
    tmp_path.chmod(0o755)
    opened_and_closed(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_clean_end_is_noted_and_the_next_start_says_nothing(tmp_path: Path) -> None:
    path = made(tmp_path)
    marker = read_marker(path)
    assert marker is not None and marker.closed and marker.facts == FACTS
    before = dump(path)
    assert opened_and_closed(tmp_path).notes == ()
    assert dump(path) == before


def test_after_a_crash_the_log_is_read_and_nothing_is_said(tmp_path: Path) -> None:
    path = made(tmp_path)
    crashed(path)
    marker = read_marker(path)
    assert marker is not None and not marker.closed
    assert opened_and_closed(tmp_path).notes == ()
    assert ("late", 1, 13) in dump(path)["question"]


@pytest.mark.parametrize("hot", [False, True])
def test_a_newer_file_is_refused_and_not_a_byte_changes(tmp_path: Path, hot: bool) -> None:
    path = made(tmp_path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    if hot:
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("PRAGMA wal_autocheckpoint = 0")
        reader.execute("PRAGMA user_version = 998")
        for file in tmp_path.glob(f"{FILE}*"):
            shutil.copy(file, tmp_path / file.name.replace("journeyman", "kept"))
        reader.close()
        for file in tmp_path.glob("kept*"):
            file.replace(tmp_path / file.name.replace("kept", "journeyman"))
    before = {file: file.read_bytes() for file in (path, tmp_path / f"{FILE}-wal") if file.exists()}
    assert len(before) == 1 + hot
    with pytest.raises(Problem, match=r"newer Journeyman \(form 99.*nothing was changed.*Update"):
        open_data(tmp_path)
    with pytest.raises(Problem, match="newer Journeyman"):
        Database(path)
    assert {file: file.read_bytes() for file in before} == before


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (a)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(Problem, match="does not belong to Journeyman"):
        open_data(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("how", ["missing", "empty"])
@pytest.mark.parametrize("backup", [False, True])
def test_a_file_that_is_gone_is_not_made_anew(tmp_path: Path, how: str, backup: bool) -> None:
    path = made(tmp_path)
    before = dump(path)
    if backup:
        back_up(path)
    path.unlink()
    if how == "empty":
        path.touch()
    says = rf"backup, journeyman-.*\.db \({FACTS} facts in 1 sessions\)" if backup else "There is no good backup"
    for _ in range(2):
        with pytest.raises(Problem, match=says) as caught:
            open_data(tmp_path)
    assert ("gone" if how == "missing" else "empty") in caught.value.trouble.what
    assert path.exists() == (how == "empty")
    if backup:
        restore(path, next((tmp_path / "backups").iterdir()))
        assert opened_and_closed(tmp_path).notes == ()
        assert dump(path) == before
    else:
        marker_of(path).rename(tmp_path / "away")
        assert opened_and_closed(tmp_path).notes == ()


def test_a_folder_where_nothing_was_kept_yet_may_begin_again(tmp_path: Path) -> None:
    opened_and_closed(tmp_path)
    (tmp_path / FILE).unlink()
    assert opened_and_closed(tmp_path).notes == ()


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
    """Overwrite a page that holds facts."""
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
def test_a_damaged_file_is_set_aside_and_what_can_be_read_is_saved(
    tmp_path: Path, damage: Callable[[Path], None], least: int, most: int, backup: bool
) -> None:
    path = made(tmp_path, 300)
    before = dump(path)
    if backup:
        back_up(path)
    damage(path)
    broken = path.read_bytes()
    opened = opened_and_closed(tmp_path)
    (note,) = opened.notes
    (aside,) = (file for file in tmp_path.glob(f"{FILE}.damaged-*") if file.name[-4:] not in {"-wal", "-shm"})
    assert aside.read_bytes() == broken and aside.name in note.do and "mended" in note.what
    after = dump(path)
    assert set(after["entry"]) <= set(before["entry"])
    if backup:
        assert after == before
    else:
        assert least <= len(after["entry"]) <= most
        assert f"{len(after['entry'])} facts" in note.why
    if not backup:
        lost = ALL - len(after["entry"])
        assert (f"{lost} are known to be lost" if lost else "none is known to be lost") in note.why
    if damage is _one_page and not backup:
        seqs = [row[0] & 0xFFFFFFFF for row in after["entry"]]
        assert seqs[-1] == ALL and seqs == sorted(seqs)  # the gap stays a gap
        assert after["session"][0][1] == before["session"][0][1]
    assert opened_and_closed(tmp_path).notes == ()


def test_damage_is_found_although_the_last_end_was_clean(tmp_path: Path) -> None:
    path = made(tmp_path, 300)
    found = path.stat()
    _one_page(path)
    assert "mended" in words(opened_and_closed(tmp_path).notes), found


def test_a_damaged_file_takes_its_log_along(tmp_path: Path) -> None:
    path = made(tmp_path, 20)
    crashed(path)
    _no_header(path)
    log = path.with_name(f"{FILE}-wal").read_bytes()
    opened = opened_and_closed(tmp_path)
    assert f"{20 + FACTS} facts" in words(opened.notes)
    assert next(tmp_path.glob(f"{FILE}.damaged-*-wal")).read_bytes() == log


@pytest.mark.parametrize("moved", [1, 2])
def test_a_mending_that_a_crash_cut_is_ended(tmp_path: Path, moved: int) -> None:
    path = made(tmp_path)
    before = dump(path)
    crashed(path)
    shutil.copy(path, tmp_path / f"{FILE}.next")
    path.rename(tmp_path / f"{FILE}.damaged-20250131-120000")
    if moved == 2:
        (tmp_path / f"{FILE}-wal").rename(tmp_path / f"{FILE}.damaged-20250131-120000-wal")
    assert "set aside" not in words(opened_and_closed(tmp_path).notes)
    assert dump(path) == before
    assert (tmp_path / f"{FILE}.damaged-20250131-120000-wal").exists()


def test_a_log_that_is_gone_is_told(tmp_path: Path) -> None:
    path = made(tmp_path)
    crashed(path)
    (tmp_path / f"{FILE}-wal").unlink()
    assert "newest facts may be missing" in words(opened_and_closed(tmp_path).notes)
    assert opened_and_closed(tmp_path).notes == ()


def test_a_garbled_index_of_the_log_does_no_harm(tmp_path: Path) -> None:
    path = made(tmp_path)
    crashed(path)
    (tmp_path / f"{FILE}-shm").write_bytes(b"\xa5" * 32768)
    assert opened_and_closed(tmp_path).notes == ()
    assert ("late", 1, 13) in dump(path)["question"]


def test_a_marker_that_cannot_be_read_only_costs_a_closer_look(tmp_path: Path) -> None:
    path = made(tmp_path)
    marker_of(path).write_text("{half")
    assert "mended" not in words(opened_and_closed(tmp_path).notes)


def test_a_folder_that_cannot_be_made_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Problem, match="data folder cannot be used"):
        open_data(tmp_path / "file" / "data")


VIEW = """
import sys
from pathlib import Path
from core.store.opening import open_data
from core.store.reader import Reader
from core.domain.problems import Problem
try:
    opened = open_data(Path(sys.argv[1]))
except Problem as problem:
    print("problem", problem)
else:
    reader = Reader(opened.path, frozen=opened.frozen)
    print(opened.database, len(reader.sessions()), opened.notes[0].what)
"""


def seen_read_only(folder: Path) -> str:
    """What a program finds that may read the folder and not write to it."""
    command = [sys.executable, "-c", VIEW, str(folder)]
    if os.geteuid() == 0:  # rights do not bind root; a mount does
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
    assert seen_read_only(folder) == "None 1 You can look, but nothing can be changed or run."
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    crashed(path)
    assert seen_read_only(folder) == "None 1 You can look, but nothing can be changed or run."
    path.with_name(f"{FILE}-shm").unlink()
    assert seen_read_only(folder).startswith("problem The newest facts cannot be read here.")
    path.with_name(f"{FILE}-wal").unlink()
    _half(path)
    assert seen_read_only(folder).startswith("problem The data file is damaged and cannot be mended here.")
    path.unlink()
    assert seen_read_only(folder).startswith("problem There is no data to show.")


def test_what_was_mended_can_be_gone_on_with(tmp_path: Path) -> None:
    path = made(tmp_path, 300, sessions=2)
    _one_page(path)
    opened_and_closed(tmp_path)
    fill(path)
    reader = Reader(path)
    try:
        assert len(reader.sessions()) == 3
    finally:
        reader.close()
