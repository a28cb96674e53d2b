"""What panels read from: the window is built before there is a file."""

from typing import Any

from core.domain.steps import Step
from core.store.reader import Reader


class Reading:
    """Empty until it is given a reader."""

    def __init__(self) -> None:
        self.reader: Reader | None = None

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        return self.reader.steps(session, first, count) if self.reader else []

    def words(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str:
        return self.reader.words(session, seq, field, limit) if self.reader else ""

    def entry(self, session: str, seq: int) -> dict[str, Any]:
        return self.reader.entry(session, seq) if self.reader else {}
