"""Runs the command line in real processes, as a shell would."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.forked_process import ForkedProcess
from tests.e2e.killed_run import program_environment

BOUND_S = 120  # longer means a hang; on a busy machine a start takes long


@dataclass(frozen=True, slots=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def kinds(self) -> list[str]:
        return [line["kind"] for line in self.lines]


class Terminal:
    """Runs commands on one data folder, from one working folder."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.folder = folder / "work"
        self.folder.mkdir(parents=True)
        self._started: list[ForkedProcess] = []

    def script(self, *replies: dict[str, Any], name: str = "script.json", **more: Any) -> str:
        (self.folder / name).write_text(json.dumps({"replies": replies, **more}), encoding="utf-8")
        return name

    def __call__(self, *words: str, **environ: str) -> CommandResult:
        return wait_for_exit(self.start(*words, **environ))

    def start(self, *words: str, **environ: str) -> ForkedProcess:
        process = ForkedProcess(words, self.folder, program_environment(self.home) | environ)
        self._started.append(process)
        return process

    def run(self, *words: str, script: str = "script.json") -> CommandResult:
        return self("run", "Go.", "--script", script, "--mode", "auto", *words)

    def session(self) -> str:
        """Return the id of the newest session."""
        return str(self("sessions", "--json").lines[0]["id"])

    def close(self) -> None:
        for process in self._started:
            process.close()


def read_until(process: ForkedProcess, words: str) -> list[str]:
    """Read lines until one contains `words`; return all lines read."""
    read: list[str] = []
    while line := process.stdout.readline():
        read.append(line)
        if words in line:
            return read
    raise AssertionError(f"{words!r} did not come: {''.join(read)} {process.communicate()}")


def wait_until(condition: Callable[[], object]) -> bool:
    pause = threading.Event()
    end = time.monotonic() + BOUND_S
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(0.01)  # poll: other processes do not notify us
    return True


def wait_for_exit(process: ForkedProcess, sign: int = 0) -> CommandResult:
    """Wait for the process to exit, after sending it a signal if one is given."""
    if sign:
        os.kill(process.pid, signal.Signals(sign))
    out, err = process.communicate(timeout=BOUND_S)
    assert "Traceback" not in err, err
    return CommandResult(process.wait(), out, err)
