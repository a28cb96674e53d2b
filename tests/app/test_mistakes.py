"""A mistake of ours in a command without a window: words, a report without keys, no stack on the terminal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.commands.exits import FAILED
from app.crash import LOG
from tests.e2e.killing import environment, program
from tests.e2e.screen import ROOT, until

KEY = "sk-live-0123456789abcdefghijkl"
BROKEN = f"""
import sys
import app.perform
from app.main import main

async def broken(context):
    raise ValueError("in a command {KEY}")

app.perform.COMMANDS = app.perform.COMMANDS | {{"usage": broken}}
sys.exit(main(sys.argv[1:]))
"""


def ask(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", BROKEN, "--home", str(home), *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)


def test_a_mistake_in_a_command_is_told_in_words_and_kept_without_keys(home: Path) -> None:
    done = ask(home, "usage")
    assert done.returncode == FAILED and done.stdout == ""
    assert "what: Journeyman made a mistake: ValueError: in a command" in done.stderr
    assert "Traceback" not in done.stderr and str(home / LOG) in done.stderr
    log = (home / LOG).read_text()
    assert "in broken" in log and KEY not in log + done.stderr
    assert (home / LOG).stat().st_mode & 0o077 == 0


@pytest.mark.skipif(sys.platform == "win32", reason="files in the place of a folder are refused otherwise there")
def test_where_no_log_can_be_written_the_report_is_printed(home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / LOG).mkdir()
    done = ask(home, "usage")
    assert done.returncode == FAILED and "in broken" in done.stderr and KEY not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no owner serves others there")
def test_a_mistake_in_a_command_ends_neither_the_owner_nor_what_it_does(home: Path, tmp_path: Path) -> None:
    """The owner is asked by another `journeyman`, and goes on with its own run."""
    script = tmp_path / "script.json"
    slow = {"text": "word " * 100, "chunks": 100, "delay_s": 120}  # an owner at its end serves no one
    script.write_text(json.dumps({"replies": [slow]}))
    (folder := tmp_path / "work").mkdir()
    words = ["--home", str(home), "run", "Go on.", "-C", str(folder), "--script", str(script), "--json"]
    owner = subprocess.Popen(
        [sys.executable, "-c", BROKEN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        until(lambda: (home / "socket").exists() or None, "the owner listens")
        words = program("usage")
        done = subprocess.run(words, capture_output=True, text=True, env=environment(home), timeout=60, check=False)
        assert done.returncode == FAILED and "what: Journeyman made a mistake" in done.stderr, done
        assert owner.poll() is None
    finally:
        owner.terminate()
        owner.communicate(timeout=60)
