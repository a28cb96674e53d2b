"""Renames, pins, archives, trashes and purges sessions. All but purging is recorded as events and reversible."""

from collections.abc import Awaitable, Callable, Sequence

from core.domain.clock import SECOND, Clock, now
from core.domain.events import SessionEvent
from core.domain.problems import Problem
from core.domain.session_metadata import SessionArchived, SessionPinned, SessionRenamed, SessionTrashed
from core.domain.sessions import SessionRow
from core.store.database import Database
from core.store.journal import Journal
from core.store.purge import purge_sessions
from core.store.reader import Reader

TRASH_DAYS = 30
DAY = 24 * 60 * 60 * SECOND

PurgedListener = Callable[[tuple[str, ...]], None]


class SessionArchive:
    """Organizes sessions. The function `end` stops a session that has not ended."""

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
        self._purge_listeners: list[PurgedListener] = []

    def subscribe_purged(self, listener: PurgedListener) -> None:
        """Call `listener` with the IDs of purged sessions. A purge is not an event, because it deletes the events."""
        self._purge_listeners.append(listener)

    async def rename(self, session: str, title: str) -> None:
        """Rename a session; raise Problem if the title is empty."""
        name = " ".join(title.split())
        if not name:
            raise Problem("A session needs a name.", "The name is empty.", "Enter a name; the old one was kept.")
        if name != self._reader.require_session(session).title:
            await self._journal.append(session, SessionRenamed(name))

    async def pin(self, sessions: Sequence[str], on: bool = True) -> tuple[str, ...]:
        """Pin the sessions to the top of the list, or unpin them. Return the sessions that this changed."""
        return await self._set_state(sessions, lambda row: bool(row.pinned) == on, SessionPinned(on))

    async def archive(self, sessions: Sequence[str], on: bool = True) -> tuple[str, ...]:
        """Hide the sessions from the list, or show them again. Return the sessions that this changed."""
        return await self._set_state(sessions, lambda row: bool(row.archived) == on, SessionArchived(on))

    async def trash(self, sessions: Sequence[str]) -> tuple[str, ...]:
        """Stop the sessions and move them to the trash for 30 days. Return the sessions that this changed."""
        for session in sessions:
            await self._end(session)
        return await self._set_state(sessions, lambda row: bool(row.trashed), SessionTrashed(True))

    async def restore(self, sessions: Sequence[str]) -> tuple[str, ...]:
        """Restore the sessions from the trash. Return the sessions that this changed."""
        return await self._set_state(sessions, lambda row: not row.trashed, SessionTrashed(False))

    async def empty_trash(self, sessions: Sequence[str] | None = None) -> tuple[str, ...]:
        """Purge all sessions in the trash, or only the trashed ones among `sessions`. Return the purged IDs."""
        chosen = [row.id for row in self._reader.sessions() if row.trashed and (sessions is None or row.id in sessions)]
        return await self.purge(chosen)

    async def purge_expired(self) -> tuple[str, ...]:
        """Purge the sessions that have been in the trash for more than 30 days. Return their IDs."""
        before = self._clock() - TRASH_DAYS * DAY
        return await self.purge([row.id for row in self._reader.sessions() if 0 < row.trashed < before])

    async def purge(self, sessions: Sequence[str]) -> tuple[str, ...]:
        """Delete the sessions permanently, whether they are in the trash or not. Return their IDs."""
        if not sessions:
            return ()
        if self._database is None:
            raise Problem("The data folder cannot be written.", "It is open read-only.", "")
        await purge_sessions(self._database, sessions, self._journal.prepare_purge)
        for listener in self._purge_listeners:
            listener(tuple(sessions))
        return tuple(sessions)

    async def _set_state(
        self, sessions: Sequence[str], has_state: Callable[[SessionRow], bool], event: SessionEvent
    ) -> tuple[str, ...]:
        """Record the event for each session for which `has_state` returns False, and return these sessions."""
        rows = [self._reader.require_session(session) for session in dict.fromkeys(sessions)]
        changed = tuple(row.id for row in rows if not has_state(row))
        for session in changed:
            await self._journal.append(session, event)
        return changed
