"""A bug in a command: an internal error on the terminal, and a report without secrets in the crash log."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.process.crash import CRASH_LOG
from app.process.exit_codes import FAILED
from tests.e2e.killed_run import program_command, program_environment
from tests.e2e.screen import ROOT, wait_until

KEY = "sk-live-0123456789abcdefghijkl"
BROKEN = f"""
import sys
import app.commands.command_runner
from app.main import main

async def broken(context):
    raise ValueError("in a command {KEY}")

found = app.commands.command_runner.command_function
app.commands.command_runner.command_function = lambda name: broken if name == "usage" else found(name)
sys.exit(main(sys.argv[1:]))
"""


def ask(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", BROKEN, "--data-dir", str(home), *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)


def test_an_internal_error_is_reported_and_logged_without_keys(home: Path) -> None:
    done = ask(home, "usage")
    assert done.returncode == FAILED and done.stdout == ""
    assert "error: Internal error: ValueError: in a command" in done.stderr
    assert "Traceback" not in done.stderr and str(home / CRASH_LOG) in done.stderr
    log = (home / CRASH_LOG).read_text()
    assert "in broken" in log and KEY not in log + done.stderr
    assert (home / CRASH_LOG).stat().st_mode & 0o077 == 0


@pytest.mark.skipif(sys.platform == "win32", reason="files in the place of a folder are refused otherwise there")
def test_the_report_is_printed_if_no_log_can_be_written(home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / CRASH_LOG).mkdir()
    done = ask(home, "usage")
    assert done.returncode == FAILED and "in broken" in done.stderr and KEY not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no owner serves others there")
def test_an_internal_error_in_a_command_ends_neither_the_owner_nor_its_run(home: Path, tmp_path: Path) -> None:
    """The owner serves another `journeyman`, and continues its own run."""
    script = tmp_path / "script.json"
    slow = {
        "text": "word " * 100,
        "chunks": 100,
        "delay_s": 120,
    }  # the owner must still run, since one that exits serves no command
    script.write_text(json.dumps({"replies": [slow]}))
    (folder := tmp_path / "work").mkdir()
    words = ["--data-dir", str(home), "run", "Go on.", "-C", str(folder), "--script", str(script), "--json"]
    owner = subprocess.Popen(
        [sys.executable, "-c", BROKEN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        wait_until(lambda: (home / "socket").exists() or None, "the owner listens")
        words = program_command("usage")
        done = subprocess.run(
            words, capture_output=True, text=True, env=program_environment(home), timeout=60, check=False
        )
        assert done.returncode == FAILED and "error: Internal error" in done.stderr, done
        assert owner.poll() is None
    finally:
        owner.terminate()
        owner.communicate(timeout=60)
