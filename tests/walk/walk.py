"""One walk: a person's data, a screen, a model server, and the program in one life after the other."""

import json
import random
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from core.domain.sessions import SessionRow
from core.store.reader import Reader, Unreadable
from tests.e2e.health import size, stalls
from tests.e2e.screen import Program, Screen, until
from tests.e2e.tree import Bus, Tree
from tests.e2e.walker import Walker
from tests.walk.hands import HANDS, Hands

FOREIGN = Path(__file__).parents[1] / "golden" / "foreign" / "claude-code"


class After(NamedTuple):
    """What the program had after an act."""

    act: str
    megabytes: float
    handles: int


class Walk:
    """Attributes:
    counts: how many of a kind were made, for names that nothing else has.
    slow: all stalls there were.
    lives: of each program, what it had after each act.
    """

    hands: Hands

    def __init__(self, display: Screen, bus: Bus, folder: Path, server: str, by: str, chance: random.Random) -> None:
        self.home, self.work, self.chance, self.by = folder / "home", folder / "work", chance, by
        self.display = replace(display, more=display.more | {"HOME": str(folder)})
        self._bus, self._tree = bus, Tree(bus)
        self.counts: dict[str, int] = {}
        self.slow: list[int] = []
        self.lives: list[list[After]] = []
        self.work.mkdir(parents=True)
        self.home.mkdir(mode=0o700)
        (self.home / "settings.json").write_text(json.dumps({"providers": [{"name": "box", "url": server}]}))
        place = folder / ".claude" / "projects" / "letters"
        place.mkdir(parents=True)
        for file in FOREIGN.glob("*.jsonl"):
            (place / file.name).write_bytes(file.read_bytes())

    @property
    def program(self) -> Program:
        return self.hands.walker.program

    @property
    def walker(self) -> Walker:
        return self.hands.walker

    # Lives

    def open(self) -> None:
        program = Program(self.display, self.home)
        self.hands = HANDS[self.by](Walker(self.display, program, self._tree))
        self.lives.append([])
        self.walker.thing("sessions.new")

    def end(self) -> None:
        """As a person ends it; nothing stays behind."""
        self.hands.quit()
        self.program.ends()
        self._tree.close()
        self._tree = Tree(self._bus)

    def kill(self) -> None:
        self.program.kill()
        self._tree.close()
        self._tree = Tree(self._bus)

    def close(self) -> None:
        """However it went."""
        if self.program.process.poll() is None:
            self.program.kill()
        self._tree.close()

    def look(self, act: str) -> str:
        """What is wrong with the program after this act; nothing in a good life."""
        if self.program.process.poll() is not None:
            return f"it ended with {self.program.process.returncode}: {self.program.complaints()}"
        if said := self.program.complaints():
            return f"it complained: {said}"
        if log := _text(self.home / "crash.log"):
            return f"it noted a crash: {log}"
        self.slow = stalls(self.home)
        self.lives[-1].append(After(act, *size(self.program.process.pid)))
        return ""

    # What there is

    def rows(self, *statuses: str, title: str = "") -> list[SessionRow]:
        """Sessions of the list that stand so, the newest first."""
        try:
            reader = Reader(self.home / "journeyman.db")
        except Unreadable:
            return []
        try:
            rows = [row for row in reader.sessions() if not row.trashed and not row.archived and not row.parent]
        except (Unreadable, sqlite3.Error):
            return []
        finally:
            reader.close()
        return [row for row in rows if (not statuses or row.status in statuses) and row.title.startswith(title)]

    def row(self, session: str) -> SessionRow:
        return next(row for row in self.rows() if row.id == session)

    def kinds(self, session: str) -> list[str]:
        """What the journal of a session has, in order."""
        reader = Reader(self.home / "journeyman.db")
        try:
            return [kind for *_, kind, _ in reader.raw(session)]
        finally:
            reader.close()

    def status(self, session: str) -> str:
        return next((row.status for row in self.rows() if row.id == session), "")

    def comes_to(self, session: str, *statuses: str) -> None:
        self.walker.until(lambda: self.status(session) in statuses, f"{session} is {' or '.join(statuses)}")

    def name(self, kind: str) -> str:
        """That nothing else has."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{kind} number {self.counts[kind]}"

    def until(self, look: Callable[[], object], what: str) -> None:
        until(lambda: look() or None, what)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
