"""What panels read from: the window is built before there is a file."""

from collections.abc import Iterable
from typing import Any

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.store.marks import Mark
from core.store.queue import QueuedLine
from core.store.reader import Reader


class Reading:
    """Empty until it is given a reader."""

    def __init__(self) -> None:
        self.reader: Reader | None = None

    def proposed(self, of: str) -> int:
        """How many proposals of this kind wait for a word."""
        return self.reader.proposed(of) if self.reader else 0

    def proposed_by(self, session: str) -> dict[str, int]:
        """How many proposals that come from a session wait for a word, by their kind."""
        return self.reader.proposed_by(session) if self.reader else {}

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        return self.reader.steps(session, first, count) if self.reader else []

    def words(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str:
        return self.reader.words(session, seq, field, limit) if self.reader else ""

    def entry(self, session: str, seq: int) -> dict[str, Any]:
        return self.reader.entry(session, seq) if self.reader else {}

    def sample(self, session: str, count: int, most: int) -> list[Mark]:
        return self.reader.sample(session, count, most) if self.reader else []

    def stretch(self, session: str, first: int, count: int) -> list[Mark]:
        return self.reader.stretch(session, first, count) if self.reader else []

    def lines(
        self, session: str, kinds: Iterable[str], after: int, until: int, most: int = 1_000
    ) -> list[dict[str, Any]]:
        return self.reader.lines(session, kinds, after, until, most) if self.reader else []

    def queued(self, session: str, goes_on: bool) -> list[QueuedLine]:
        return self.reader.queued(session, goes_on) if self.reader else []

    def session(self, name: str) -> SessionRow | None:
        return self.reader.session(name) if self.reader else None

    def children(self, session: str) -> list[SessionRow]:
        return self.reader.children(session) if self.reader else []

    def row_of(self, session: str, seq: int) -> int | None:
        return self.reader.row_of(session, seq) if self.reader else None

    def find_in(self, session: str, text: str) -> list[int]:
        return self.reader.find_in(session, text) if self.reader else []

    def kept(self, blob: str) -> bytes | None:
        return self.reader.kept(blob) if self.reader else None
