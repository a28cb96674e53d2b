"""Looks up which sessions of another program were imported before."""

from collections.abc import Callable

from core.domain.ids import session_id
from core.domain.import_events import TranscriptImported
from core.store.reader import Reader


class ImportedSessions:
    """The imported sessions of one program: their ids here and how far each was read. Used by one thread only."""

    def __init__(self, open_reader: Callable[[], Reader], agent: str) -> None:
        self._open_reader = open_reader
        self._agent = agent
        self._opened: Reader | None = None
        self.ids: dict[str, str] = {}
        self._new: set[str] = set()

    def id_of(self, key: str) -> str:
        """Return the id of the session with this key, or a new id if it was not imported or is in the trash."""
        if key not in self.ids:
            row = self._reader.imported_session(f"{self._agent}:{key}")
            if row is None or row.trashed:
                self._new.add(key)
                self.ids[key] = session_id()
            else:
                self.ids[key] = row.id
        return self.ids[key]

    def last_import(self, key: str) -> TranscriptImported | None:
        """Return how far the session was read by the last import, or None if it is new."""
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
    """Return the last import event of a session, or None."""
    fields = reader.last_event_of(session, "transcript_imported")
    if not fields:
        return None
    return TranscriptImported(**{name: fields[name] for name in TranscriptImported.__slots__ if name in fields})
