"""The real program in real processes, as a shell would start it."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.forked import Forked
from tests.e2e.killing import environment

BOUND_S = 120  # a hang; on a busy computer a start takes its time


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def kinds(self) -> list[str]:
        return [line["kind"] for line in self.lines]


class Terminal:
    """Commands on one home, typed in one folder."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.folder = folder / "work"
        self.folder.mkdir(parents=True)
        self._started: list[Forked] = []

    def script(self, *replies: dict[str, Any], name: str = "script.json", **more: Any) -> str:
        (self.folder / name).write_text(json.dumps({"replies": replies, **more}), encoding="utf-8")
        return name

    def __call__(self, *words: str, **environ: str) -> Done:
        return ended(self.start(*words, **environ))

    def start(self, *words: str, **environ: str) -> Forked:
        process = Forked(words, self.folder, environment(self.home) | environ)
        self._started.append(process)
        return process

    def run(self, *words: str, script: str = "script.json") -> Done:
        return self("run", "Go.", "--script", script, "--mode", "trust", *words)

    def session(self) -> str:
        """The newest."""
        return str(self("sessions", "--json").lines[0]["id"])

    def close(self) -> None:
        for process in self._started:
            process.close()


def until(process: Forked, words: str) -> list[str]:
    """Read lines until one holds the words."""
    read: list[str] = []
    while line := process.stdout.readline():
        read.append(line)
        if words in line:
            return read
    raise AssertionError(f"{words!r} did not come: {''.join(read)} {process.communicate()}")


def eventually(condition: Callable[[], object]) -> bool:
    pause = threading.Event()
    end = time.monotonic() + BOUND_S
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(0.01)  # other processes end without a signal to us
    return True


def ended(process: Forked, sign: int = 0) -> Done:
    """Let it end, by a signal where one is given."""
    if sign:
        os.kill(process.pid, signal.Signals(sign))
    out, err = process.communicate(timeout=BOUND_S)
    assert "Traceback" not in err, err
    return Done(process.wait(), out, err)
