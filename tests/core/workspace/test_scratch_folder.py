"""Temporary folders that killed processes left behind are deleted; those in use are not."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("fcntl", reason="launchers for Linux only")

from core.workspace.scratch_folder import PREFIX, YOUNG_S, ScratchFolder

HOLDS = """
import time
from core.workspace.scratch_folder import ScratchFolder
held = ScratchFolder()
print(held.path, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def aged(path: Path) -> Path:
    (path / "etc").mkdir(exist_ok=True)
    then = path.stat().st_mtime - 2 * YOUNG_S
    os.utime(path, (then, then))
    return path


def test_a_scratch_folder_is_removed_when_it_is_closed(place: Path) -> None:
    made = ScratchFolder()
    assert made.path.is_dir() and made.path.parent == place
    made.close()
    made.close()
    assert list(place.iterdir()) == []


def test_folders_of_a_killed_process_are_removed_and_held_ones_stay(place: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True)
    with program:
        assert program.stdout is not None
        held = aged(Path(program.stdout.readline().strip()))
        ScratchFolder().close()
        assert held.is_dir(), "its process is alive"
        program.kill()
        program.wait()
        ScratchFolder().close()
    assert not held.exists()


def test_unreadable_folders_are_removed_too_and_link_targets_stay(place: Path) -> None:
    outside = _folder(place / "outside")
    (outside / "file").touch(0o600)
    made = ScratchFolder()
    closed = _folder(made.path / "closed")
    (closed / "inner").mkdir()
    (closed / "inner" / "file").touch()
    (closed / "link").symlink_to(outside)
    (closed / "inner").chmod(0o000)
    closed.chmod(0o500)
    made.close()
    assert list(place.iterdir()) == [outside] and (outside / "file").stat().st_mode & 0o777 == 0o600


def test_nothing_else_is_touched(place: Path) -> None:
    other, target = aged(_folder(place / "journeyman-other")), aged(_folder(place / "target"))
    (place / f"{PREFIX}link").symlink_to(target)
    (place / f"{PREFIX}file").touch()
    young = _folder(place / f"{PREFIX}young")
    ScratchFolder().close()
    assert {other, target, young, place / f"{PREFIX}link", place / f"{PREFIX}file"} == set(place.iterdir())
    assert (target / "etc").is_dir()


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
