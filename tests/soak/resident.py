"""A window that stays open during the whole soak test and executes other commands; measures memory and stalls."""

import os
import random
import signal
import subprocess
from pathlib import Path

from tests.e2e.killed_run import program_command
from tests.e2e.process_health import memory_and_handles, stalls
from tests.e2e.screen import ROOT, wait_until
from tests.soak.script_generator import ScriptGenerator
from tests.soak.soaked_folder import BOUND_S

WARM = 12  # runs until every one-time allocation has been made


class Resident:
    """The real program with an offscreen window."""

    def __init__(self, folder: Path, chance: random.Random, scripts: ScriptGenerator) -> None:
        self.home, self.folder = folder / "home", folder / "work"
        self.folder.mkdir(parents=True)
        self._script = folder / "script.json"
        self._said = folder / "stderr"
        self._chance, self._scripts = chance, scripts
        self.runs = 0
        self.sizes: list[tuple[float, int]] = []
        with self._said.open("w") as file:
            self.process = subprocess.Popen(program_command(), env=self._environment(), cwd=ROOT, stderr=file)
        wait_until(lambda: (self.home / "socket").exists() or None, "the window listens")

    def run_once(self) -> None:
        """Run a script in the window's process, to its end or until its client is killed or interrupted."""
        self._script.write_text(self._scripts.make_script())
        words = ["run", "Go on.", "-C", str(self.folder), "--script", str(self._script), "--mode", "auto"]
        words += ["--no-questions"]
        process = subprocess.Popen(
            program_command(*words), env=self._environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
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
            self.sizes.append(memory_and_handles(self.process.pid))

    def describe_size(self) -> str:
        own, handles = memory_and_handles(self.process.pid)
        return f"{own:.1f} MB, {handles} handles, {self.runs} runs"

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(BOUND_S) == 0, self._said.read_text()
        log = self.home / "crash.log"
        assert not log.exists() or log.read_text() == "", log.read_text()

    def growth(self) -> tuple[float, int]:
        """Return the growth of the minimum from the first to the last tenth, in megabytes and handles."""
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
