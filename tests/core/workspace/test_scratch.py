"""What killed programs left in the system's folder for such things is taken away; what is used is not."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("fcntl", reason="the rungs of Linux")

from core.workspace.scratch import PREFIX, YOUNG_S, Scratch

HOLDS = """
import time
from core.workspace.scratch import Scratch
held = Scratch()
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


def test_it_is_gone_when_it_is_closed(place: Path) -> None:
    made = Scratch()
    assert made.path.is_dir() and made.path.parent == place
    made.close()
    made.close()
    assert list(place.iterdir()) == []


def test_what_a_killed_program_left_is_taken_away_and_what_is_held_stays(place: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True)
    with program:
        assert program.stdout is not None
        held = aged(Path(program.stdout.readline().strip()))
        Scratch().close()
        assert held.is_dir(), "its program is there"
        program.kill()
        program.wait()
        Scratch().close()
    assert not held.exists()


def test_folders_that_were_closed_go_too_and_what_links_lead_to_stays(place: Path) -> None:
    outside = _folder(place / "outside")
    (outside / "file").touch(0o600)
    made = Scratch()
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
    Scratch().close()
    assert {other, target, young, place / f"{PREFIX}link", place / f"{PREFIX}file"} == set(place.iterdir())
    assert (target / "etc").is_dir()


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
