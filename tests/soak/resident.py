"""One window that stays open through it all, through whose engine other commands work: memory, handles, stalls."""

import os
import random
import signal
import subprocess
from pathlib import Path

from tests.e2e.health import size, stalls
from tests.e2e.killing import program
from tests.e2e.screen import ROOT, until
from tests.soak.place import BOUND_S
from tests.soak.scripts import Scripts

WARM = 12  # runs until everything that is made once has been made


class Resident:
    """The program with its window in memory."""

    def __init__(self, folder: Path, chance: random.Random, scripts: Scripts) -> None:
        self.home, self.folder = folder / "home", folder / "work"
        self.folder.mkdir(parents=True)
        self._script = folder / "script.json"
        self._said = folder / "stderr"
        self._chance, self._scripts = chance, scripts
        self.runs = 0
        self.sizes: list[tuple[float, int]] = []
        with self._said.open("w") as file:
            self.process = subprocess.Popen(program(), env=self._environment(), cwd=ROOT, stderr=file)
        until(lambda: (self.home / "socket").exists() or None, "the window listens")

    def go(self) -> None:
        """A run inside of it, from its beginning to its end or to a stop."""
        self._script.write_text(self._scripts.make())
        words = ["run", "Go on.", "-C", str(self.folder), "--script", str(self._script), "--mode", "trust"]
        words += ["--no-questions"]
        process = subprocess.Popen(
            program(*words), env=self._environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert process.stdout is not None
        if self._chance.random() < 0.3:
            for _ in range(self._chance.randint(1, 8)):
                process.stdout.readline()
            process.send_signal(self._chance.choice((signal.SIGKILL, signal.SIGINT)))
        with process.stdout:
            process.stdout.read()
        process.wait(BOUND_S)
        assert self.process.poll() is None, self._said.read_text()
        self.runs += 1
        if self.runs >= WARM:
            self.sizes.append(size(self.process.pid))

    def size_in_words(self) -> str:
        own, handles = size(self.process.pid)
        return f"{own:.1f} MB, {handles} handles, {self.runs} runs"

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(BOUND_S) == 0, self._said.read_text()
        log = self.home / "crash.log"
        assert not log.exists() or log.read_text() == "", log.read_text()

    def growth(self) -> tuple[float, int]:
        """Of the last tenth over the first, in megabytes and handles: the least of each, for peaks come and go."""
        tenth = max(1, len(self.sizes) // 10)
        first, last = self.sizes[:tenth], self.sizes[-tenth:]
        return (
            min(size for size, _ in last) - min(size for size, _ in first),
            min(count for _, count in last) - min(count for _, count in first),
        )

    def stalls(self) -> list[int]:
        return stalls(self.home)

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "JOURNEYMAN_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "QT_QPA_PLATFORM": "offscreen",
        }
