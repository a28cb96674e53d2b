"""A data folder that nobody may write to can be looked at: every command that reads does its work."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.main import main
from core.store.opening import FILE
from tests.e2e.killing import environment

GOLDEN = Path(__file__).parents[1] / "golden" / "databases"
MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
TYPING = """
import contextlib, io, json, sys
from app.main import main

told = {}
for line in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
        code = main(line.split())
    told[line] = [str(code), said.getvalue()]
print(json.dumps(told))
"""
NAME = "srcsrc22"
READING = ("sessions", f"show {NAME}", "questions", f"export {NAME}", "doctor", "usage", "failures", f"replay {NAME}")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the folder is closed with Linux's means")


@pytest.fixture
def kept(home: Path) -> Iterator[Path]:
    """A folder with sessions, closed in order, in which nothing can be made."""
    home.mkdir(exist_ok=True)
    shutil.copy(max(GOLDEN.glob("v*.db")), home / FILE)
    assert main(["--home", str(home), "sessions"]) == 0
    home.chmod(0o500)
    yield home
    home.chmod(0o700)


def look(home: Path, *lines: str) -> dict[str, list[str]]:
    """For each line its exit code, and what was printed: by one process that may not write there."""
    command = [sys.executable, "-P", "-c", TYPING, *lines]
    if os.geteuid() == 0:  # rights do not bind root; a mount does
        command = ["unshare", "--mount", "sh", "-c", MOUNTED, str(home), *command]
    said = subprocess.run(
        command, capture_output=True, text=True, env=environment(home), timeout=60, stdin=subprocess.DEVNULL, check=True
    )
    told: dict[str, list[str]] = json.loads(said.stdout)
    return told


def test_what_only_reads_does_its_work_and_changes_nothing(kept: Path) -> None:
    before = {file.name: file.read_bytes() for file in kept.iterdir() if file.is_file()}
    for line, (code, said) in look(kept, *READING).items():
        assert code == "0" and "mistake" not in said, (line, said)
        assert "You can look, but nothing can be changed" in said, (line, said)
    assert {file.name: file.read_bytes() for file in kept.iterdir() if file.is_file()} == before


def test_what_would_write_is_refused_in_words(kept: Path) -> None:
    for line, (code, said) in look(kept, f"fork {NAME}", f"verdict {NAME} up", "demo").items():
        assert code == "1" and said.count("what:") == 2 and "mistake" not in said, (line, said)
