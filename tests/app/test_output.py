"""What is printed: a terminal is never told to do anything by words of others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.crash import LOG
from app.main import main
from app.output import terminal
from tests.e2e.killing import environment, program

SAID = "a\x1b]0;pwned\x07 \x1b[31mred \u202egpj.exe"


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals there")
def test_u2_a_terminal_shows_signs_that_hide_and_a_pipe_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.openpty()
    other, pipe = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as screen, os.fdopen(pipe, "w", encoding="utf-8") as piped:
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(sys, "stderr", piped)
        out = terminal()
        out.write(SAID)
        out.complain(SAID)
        assert os.read(reading, 1_000).decode() == "a red ⟦U+202E⟧gpj.exe\r\n"
        assert os.read(other, 1_000).decode() == f"{SAID}\n"
    os.close(reading)
    os.close(other)


def shell(home: Path, script: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = ["sh", "-c", script, "sh", *program(*words)]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(home), cwd=home.parent, timeout=60, check=False
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes no output there")
def test_an_output_that_is_closed_is_said_in_words(home: Path) -> None:
    done = shell(home, 'exec "$@" >&-', "models")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "what: The output cannot be written."), done
    assert "Traceback" not in done.stderr
    assert shell(home, 'exec "$@" 2>&-', "models").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device there")
def test_an_output_that_is_full_is_said_in_words_and_is_no_mistake(home: Path) -> None:
    (home.parent / "script.json").write_text(json.dumps({"replies": [{"text": "Done."}]}))
    (home.parent / "work").mkdir()
    run = ("run", "Go.", "-C", str(home.parent / "work"), "--script", "script.json", "--mode", "trust")
    for words in (run, ("sessions",), ("replay", "s")):
        done = shell(home, 'exec "$@" >/dev/full', *words)
        assert done.returncode == 1 and done.stderr.startswith("what: "), done
        assert "mistake" not in done.stderr and "Traceback" not in done.stderr, done
        assert words[0] == "replay" or "what: The output cannot be written." in done.stderr, done
    assert not (home / LOG).exists()
    assert shell(home, 'exec "$@" 2>/dev/full', "sessions").returncode == 0


@pytest.mark.parametrize("words", [["--home", ""], ["--home="], ["--home", "", "sessions"]])
def test_an_empty_name_of_the_data_folder_is_no_personal_folder(
    words: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line[:5] for line in said] == ["what:", "why: ", "do:  "] and "--home" in said[2]
    assert not home.exists() or not any(home.iterdir())
