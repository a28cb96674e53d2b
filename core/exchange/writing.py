"""What was read of a foreign transcript goes into the journal, a part at a time."""

from core.exchange.reading import Part
from core.store.journal import Journal


class Writing:
    """The parts of one reading. After one that could not be written nothing is: what follows says that it was read."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.whole = True

    async def write(self, part: Part) -> int:
        """How many facts there are more."""
        if not self.whole:
            return 0
        self.whole = False
        for session, many in part.facts.items():
            await self._journal.pour(session, many)
        self.whole = True
        return part.added
