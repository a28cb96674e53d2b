"""State of one monkey test: a user's data, a screen, a provider, and the program, which is restarted repeatedly."""

import json
import random
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from core.domain.sessions import SessionRow
from core.store.reader import Reader, ReadError
from tests.e2e.accessibility import AccessibilityBus, AccessibilityTree
from tests.e2e.process_health import memory_and_handles, stalls
from tests.e2e.screen import Program, Screen, wait_until
from tests.e2e.simulated_user import SimulatedUser
from tests.monkey.input_methods import INPUT_METHODS, InputMethod

FOREIGN = Path(__file__).parents[1] / "golden" / "foreign" / "claude-code"


class ProcessSample(NamedTuple):
    """Memory and handles of the program after an action."""

    act: str
    megabytes: float
    handles: int


class MonkeyRun:
    """Attributes:
    counts: number of names generated per kind, for unique names.
    slow: all stalls so far, in milliseconds.
    lives: for each started program, its samples after each action.
    """

    input_method: InputMethod

    def __init__(
        self, display: Screen, bus: AccessibilityBus, folder: Path, server: str, by: str, chance: random.Random
    ) -> None:
        self.home, self.work, self.rng, self.input_name = folder / "home", folder / "work", chance, by
        self.display = replace(display, extra_variables=display.extra_variables | {"HOME": str(folder)})
        self._bus, self._tree = bus, AccessibilityTree(bus)
        self.counts: dict[str, int] = {}
        self.stalls: list[int] = []
        self.samples: list[list[ProcessSample]] = []
        self.work.mkdir(parents=True)
        self.home.mkdir(mode=0o700)
        (self.home / "settings.json").write_text(json.dumps({"providers": [{"name": "box", "url": server}]}))
        place = folder / ".claude" / "projects" / "letters"
        place.mkdir(parents=True)
        for file in FOREIGN.glob("*.jsonl"):
            (place / file.name).write_bytes(file.read_bytes())

    @property
    def program(self) -> Program:
        return self.input_method.walker.program

    @property
    def user(self) -> SimulatedUser:
        return self.input_method.walker

    # Starting and ending the program

    def open(self) -> None:
        program = Program(self.display, self.home)
        self.input_method = INPUT_METHODS[self.input_name](SimulatedUser(self.display, program, self._tree))
        self.samples.append([])
        self.user.wait_for("sessions.new")

    def quit(self) -> None:
        """Quit as a user would; no process may stay behind."""
        self.input_method.quit()
        self.program.check_clean_exit()
        self._tree.close()
        self._tree = AccessibilityTree(self._bus)

    def kill(self) -> None:
        self.program.kill()
        self._tree.close()
        self._tree = AccessibilityTree(self._bus)

    def close(self) -> None:
        """Clean up, whether the test passed or failed."""
        if self.program.process.poll() is None:
            self.program.kill()
        self._tree.close()

    def check_health(self, act: str) -> str:
        """Record the health of the program after an action; return what is wrong, or an empty string."""
        if self.program.process.poll() is not None:
            return f"the program exited with {self.program.process.returncode}: {self.program.stderr_text()}"
        if stderr := self.program.stderr_text():
            return f"the program wrote to stderr: {stderr}"
        if log := _text(self.home / "crash.log"):
            return f"the program logged a crash: {log}"
        self.stalls = stalls(self.home)
        self.samples[-1].append(ProcessSample(act, *memory_and_handles(self.program.process.pid)))
        return ""

    # Reading the data

    def rows(self, *statuses: str, title: str = "") -> list[SessionRow]:
        """Return the listed sessions with one of these statuses, newest first."""
        try:
            reader = Reader(self.home / "journeyman.db")
        except ReadError:
            return []
        try:
            rows = [row for row in reader.sessions() if not row.trashed and not row.archived and not row.parent]
        except (ReadError, sqlite3.Error):
            return []
        finally:
            reader.close()
        return [row for row in rows if (not statuses or row.status in statuses) and row.title.startswith(title)]

    def row(self, session: str) -> SessionRow:
        return next(row for row in self.rows() if row.id == session)

    def kinds(self, session: str) -> list[str]:
        """Return the kinds of a session's events, in order."""
        reader = Reader(self.home / "journeyman.db")
        try:
            return [kind for *_, kind, _ in reader.raw_events(session)]
        finally:
            reader.close()

    def status(self, session: str) -> str:
        return next((row.status for row in self.rows() if row.id == session), "")

    def wait_for_status(self, session: str, *statuses: str) -> None:
        self.user.wait_until(lambda: self.status(session) in statuses, f"{session} is {' or '.join(statuses)}")

    def unique_name(self, kind: str) -> str:
        """Return a unique name."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{kind} number {self.counts[kind]}"

    def until(self, look: Callable[[], object], what: str) -> None:
        wait_until(lambda: look() or None, what)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
