"""What was read of a transcript becomes facts in the journal, a part at a time."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from core.domain.events import RunEvent
from core.exchange.reading import Part
from core.store.bulk import bulk
from core.store.journal import Journal
from core.workspace.thread import in_thread


class Writing:
    """The parts of one reading. After one that could not be written nothing is: what follows says that it was read."""

    def __init__(self, journal: Journal, thread: ThreadPoolExecutor) -> None:
        self._journal, self._thread = journal, thread
        self.whole = True

    async def write(self, part: Part) -> int:
        """How many facts there are more."""
        if not self.whole:
            return 0
        self.whole = False
        for session, facts in part.facts.items():
            await self.pour(session, facts, part.contents.get(session, {}))
        self.whole = True
        return part.count

    async def pour(self, session: str, facts: Sequence[tuple[int, RunEvent]], contents: Mapping[str, bytes]) -> None:
        await self._journal.pour(session, await in_thread(self._thread, partial(bulk, facts, contents)))
