"""The output of commands: untrusted text cannot control the terminal, and errors of the output are reported."""

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from app.main import main
from app.process.crash import CRASH_LOG
from app.process.output import Output, in_writer_thread, terminal, token_count
from core.domain.problems import ErrorDetails
from tests.e2e.killed_run import program_command, program_environment

SAID = "a\x1b]0;pwned\x07 \x1b[31mred \u202egpj.exe"


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals there")
def test_u2_a_terminal_and_a_pipe_receive_no_control_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.openpty()
    other, pipe = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as screen, os.fdopen(pipe, "w", encoding="utf-8") as piped:
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(sys, "stderr", piped)
        out = terminal()
        out.write(SAID)
        out.write_error(SAID)
        shown = "a⟦U+001B⟧]0;pwned⟦U+0007⟧ ⟦U+001B⟧[31mred ⟦U+202E⟧gpj.exe"
        assert os.read(reading, 1_000).decode() == f"{shown}\r\n"
        assert os.read(other, 1_000).decode() == f"{shown}\n"
    os.close(reading)
    os.close(other)


def shell(home: Path, script: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = ["sh", "-c", script, "sh", *program_command(*words)]
    return subprocess.run(
        command, capture_output=True, text=True, env=program_environment(home), cwd=home.parent, timeout=60, check=False
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes no output there")
def test_a_closed_output_is_reported(home: Path) -> None:
    done = shell(home, 'exec "$@" >&-', "models")
    assert done.returncode == 1 and done.stderr.startswith("error: The output cannot be written."), done
    assert "Traceback" not in done.stderr
    assert shell(home, 'exec "$@" 2>&-', "models").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device there")
def test_a_full_output_is_reported_and_is_no_internal_error(home: Path) -> None:
    (home.parent / "script.json").write_text(json.dumps({"replies": [{"text": "Done."}]}))
    (home.parent / "work").mkdir()
    run = ("run", "Go.", "-C", str(home.parent / "work"), "--script", "script.json", "--mode", "auto")
    for words in (run, ("sessions",), ("replay", "s")):
        done = shell(home, 'exec "$@" >/dev/full', *words)
        assert done.returncode == 1 and done.stderr.startswith("error: "), done
        assert "Internal error" not in done.stderr and "Traceback" not in done.stderr, done
        assert words[0] == "replay" or "error: The output cannot be written." in done.stderr, done
    assert not (home / CRASH_LOG).exists()
    assert shell(home, 'exec "$@" 2>/dev/full', "sessions").returncode == 0


@pytest.mark.parametrize("words", [["--data-dir", ""], ["--data-dir="], ["--data-dir", "", "sessions"]])
def test_an_empty_data_folder_name_is_not_the_default_folder(
    words: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert "error: Argument --data-dir: expected a text that is not empty." in capsys.readouterr().err
    assert not home.exists() or not any(home.iterdir())


def test_tokens_that_were_not_reported_are_unknown() -> None:
    assert token_count(1_200, 3) == "1,200 tokens" and token_count(0, 0) == "0 tokens"
    assert token_count(0, 3) == "tokens unknown"


def test_errors_are_written_after_the_output_cannot_be() -> None:
    failed, written = Event(), list[str]()

    def write(_: str) -> None:
        failed.set()
        raise OSError("full")

    with pytest.raises(OSError, match="full"), in_writer_thread(Output(write, written.append)) as out:
        out.write("a line")
        assert failed.wait(10)
        out.print_error(ErrorDetails("The run failed."))
    assert written[0].startswith("error: The run failed.")
