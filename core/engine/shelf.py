"""Where a person keeps sessions: named, pinned, archived, in the trash, gone. Everything but the last is a fact."""

from collections.abc import Awaitable, Callable, Sequence

from core.domain.clock import SECOND, Clock, now
from core.domain.events import RunEvent
from core.domain.filing import SessionArchived, SessionPinned, SessionRenamed, SessionTrashed
from core.domain.problems import Problem
from core.domain.sessions import SessionRow
from core.store.database import Database
from core.store.journal import Journal
from core.store.oblivion import erase
from core.store.reader import Reader

KEPT_DAYS = 30
DAY = 24 * 60 * 60 * SECOND

GoneListener = Callable[[tuple[str, ...]], None]


class Shelf:
    """Every wish may be taken back, except emptying the trash. `end` stops what still goes of a session."""

    def __init__(
        self,
        journal: Journal,
        reader: Reader,
        database: Database | None,
        end: Callable[[str], Awaitable[None]],
        clock: Clock = now,
    ) -> None:
        self._journal = journal
        self._reader = reader
        self._database = database
        self._end = end
        self._clock = clock
        self._gone: list[GoneListener] = []

    def listen_gone(self, listener: GoneListener) -> None:
        """Hear of sessions that were forgotten: no fact can tell of them."""
        self._gone.append(listener)

    async def rename(self, session: str, title: str) -> None:
        words = " ".join(title.split())
        if not words:
            raise Problem("A session needs a name.", "Nothing was written.", "The former name was kept.")
        if words != self._row(session).title:
            await self._journal.append(session, SessionRenamed(words))

    async def pin(self, sessions: Sequence[str], on: bool = True) -> tuple[str, ...]:
        """Keep them at the top of the list; those that this changed."""
        return await self._file(sessions, lambda row: bool(row.pinned) == on, SessionPinned(on))

    async def archive(self, sessions: Sequence[str], on: bool = True) -> tuple[str, ...]:
        """Out of the way, but kept; those that this changed."""
        return await self._file(sessions, lambda row: bool(row.archived) == on, SessionArchived(on))

    async def trash(self, sessions: Sequence[str]) -> tuple[str, ...]:
        """Stop what goes, and keep them for thirty days more; those that this changed."""
        for session in sessions:
            await self._end(session)
        return await self._file(sessions, lambda row: bool(row.trashed), SessionTrashed(True))

    async def restore(self, sessions: Sequence[str]) -> tuple[str, ...]:
        """Back from the trash; those that this changed."""
        return await self._file(sessions, lambda row: not row.trashed, SessionTrashed(False))

    async def empty(self, sessions: Sequence[str] | None = None) -> tuple[str, ...]:
        """Forget what is in the trash, or these of it, for good; what went."""
        chosen = [row.id for row in self._reader.sessions() if row.trashed and (sessions is None or row.id in sessions)]
        return await self.forget(chosen)

    async def empty_old(self) -> tuple[str, ...]:
        """Forget what has been in the trash for thirty days."""
        before = self._clock() - KEPT_DAYS * DAY
        return await self.forget([row.id for row in self._reader.sessions() if 0 < row.trashed < before])

    async def forget(self, sessions: Sequence[str]) -> tuple[str, ...]:
        """For good, wherever they are kept; what went."""
        if not sessions:
            return ()
        if self._database is None:
            raise Problem("The data folder cannot be written.", "It was opened to look at.", "")
        await erase(self._database, sessions, self._journal.forget)
        for listener in self._gone:
            listener(tuple(sessions))
        return tuple(sessions)

    async def _file(
        self, sessions: Sequence[str], is_so: Callable[[SessionRow], bool], event: RunEvent
    ) -> tuple[str, ...]:
        changed = tuple(session for session in dict.fromkeys(sessions) if not is_so(self._row(session)))
        for session in changed:
            await self._journal.append(session, event)
        return changed

    def _row(self, session: str) -> SessionRow:
        row = self._reader.session(session)
        if row is None:
            raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
        return row
