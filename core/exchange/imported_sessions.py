"""Looks up which sessions of another program were imported before."""

from collections.abc import Callable

from core.domain.ids import session_id
from core.domain.import_events import TranscriptImported
from core.store.reader import Reader


class ImportedSessions:
    """The imported sessions of one program: their IDs in Journeyman, and how far each was read.

    The reader is opened on first use; use the object in one thread only.
    """

    def __init__(self, open_reader: Callable[[], Reader], agent: str) -> None:
        self._open_reader = open_reader
        self._agent = agent
        self._opened: Reader | None = None
        self.ids: dict[str, str] = {}
        self._new: set[str] = set()

    def id_of(self, key: str) -> str:
        """Return the Journeyman ID for a session's key in its program.

        The ID is new if the session was not imported before or is in the trash.
        """
        if key not in self.ids:
            row = self._reader.imported_session(f"{self._agent}:{key}")
            if row is None or row.trashed:
                self._new.add(key)
                self.ids[key] = session_id()
            else:
                self.ids[key] = row.id
        return self.ids[key]

    def last_import(self, key: str) -> TranscriptImported | None:
        """Return the event that says how far the last import read the session, or None if the session is new."""
        session = self.id_of(key)
        return None if key in self._new else last_import_event(self._reader, session)

    def close(self) -> None:
        if self._opened:
            self._opened.close()

    @property
    def _reader(self) -> Reader:
        self._opened = self._opened or self._open_reader()
        return self._opened


def last_import_event(reader: Reader, session: str) -> TranscriptImported | None:
    """Return the last TranscriptImported event of a session, or None if it was not imported."""
    fields = reader.last_event_of(session, "transcript_imported")
    if not fields:
        return None
    return TranscriptImported(**{name: fields[name] for name in TranscriptImported.__slots__ if name in fields})
