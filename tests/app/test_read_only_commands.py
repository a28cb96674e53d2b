"""Commands that only read work on a data folder that cannot be written."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.main import main
from core.store.data_folder import DATABASE_FILE
from tests.e2e.killed_run import program_environment

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
NAME = "schsch77"
READING = ("sessions", f"show {NAME}", "pending", f"export {NAME}", "doctor", "usage", "failures", f"replay {NAME}")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the folder is closed with Linux's means")


@pytest.fixture
def read_only_folder(home: Path) -> Iterator[Path]:
    """A data folder with sessions, closed cleanly, in which no file can be created."""
    home.mkdir(exist_ok=True)
    shutil.copy(max(GOLDEN.glob("v*.db")), home / DATABASE_FILE)
    assert main(["--data-dir", str(home), "sessions"]) == 0
    home.chmod(0o500)
    yield home
    home.chmod(0o700)


def run_read_only(home: Path, *lines: str) -> dict[str, list[str]]:
    """Run each line in a process that may not write to the folder; return its exit code and its output."""
    command = [sys.executable, "-P", "-c", TYPING, *lines]
    if os.geteuid() == 0:  # root may write anywhere but to a read-only mount
        command = ["unshare", "--mount", "sh", "-c", MOUNTED, str(home), *command]
    said = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=program_environment(home),
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    told: dict[str, list[str]] = json.loads(said.stdout)
    return told


def test_read_only_commands_work_and_change_nothing(read_only_folder: Path) -> None:
    before = {file.name: file.read_bytes() for file in read_only_folder.iterdir() if file.is_file()}
    for line, (code, said) in run_read_only(read_only_folder, *READING).items():
        assert code == "0" and "Internal error" not in said, (line, said)
        assert "The data is read-only." in said, (line, said)
    assert {file.name: file.read_bytes() for file in read_only_folder.iterdir() if file.is_file()} == before


def test_writing_commands_are_refused(read_only_folder: Path) -> None:
    for line, (code, said) in run_read_only(read_only_folder, f"fork {NAME}", f"rate {NAME} good", "demo").items():
        assert (
            code == "1" and (said.count("warning:"), said.count("error:")) == (1, 1) and "Internal error" not in said
        ), (line, said)
