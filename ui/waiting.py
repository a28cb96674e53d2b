"""What waits for the person in any session: counted, listed, gone to."""

from collections.abc import Collection
from typing import Final

from core.domain.consent import ConsentAsked, ConsentGiven
from core.domain.events import RunEnded, RunStarted
from core.domain.proposal import ProposalMade, ProposalSettled
from core.domain.question import QuestionAnswered, QuestionAsked
from ui.ask.place import Asked
from ui.ask.wanted import Wanted
from ui.reading import Reading

ASKING: Final = (
    QuestionAsked, QuestionAnswered, ConsentAsked, ConsentGiven, ProposalMade, ProposalSettled, RunEnded, RunStarted,
)  # fmt: skip


class Waiting:
    """Questions and requests for consent with their sessions, the oldest first."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.asked: list[tuple[str, Asked]] = []
        self._fresh: Collection[str] = ()

    def look(self) -> int:
        """Read again what waits; returns how many there are."""
        before = {asked.id for _, asked in self.asked}
        self.asked = self._read()
        self._fresh = {name for name, asked in self.asked if asked.id not in before}
        return len(self.asked)

    def _read(self) -> list[tuple[str, Asked]]:
        reader = self._reading.reader
        if reader is None:
            return []
        found: list[tuple[str, Asked]] = list(reader.questions())
        found += [(one.session, Wanted(one.request, one.arguments, one.asked)) for one in reader.consents()]
        return sorted(found, key=lambda pair: pair[1].asked)

    def of(self, session: str) -> list[Asked]:
        return [asked for name, asked in self.asked if name == session]

    def take_fresh(self) -> Collection[str]:
        """The sessions in which the last look found something new. Said once."""
        fresh, self._fresh = self._fresh, ()
        return fresh

    def after(self, session: str) -> str:
        """The next session that waits, round and round; empty where none does."""
        names = list(dict.fromkeys(name for name, _ in self.asked))
        if not names:
            return ""
        place = names.index(session) + 1 if session in names else 0
        return names[place % len(names)]
