"""What is here already of the sessions of another program."""

from collections.abc import Callable

from core.domain.exchanged import TranscriptRead
from core.domain.ids import session_id
from core.store.reader import Reader


class Known:
    """Which sessions of a program are here, under which id, and how far they were read. Of one thread."""

    def __init__(self, read: Callable[[], Reader], agent: str) -> None:
        self._open = read
        self._agent = agent
        self._opened: Reader | None = None
        self.ids: dict[str, str] = {}
        self._new: set[str] = set()

    def id_of(self, key: str) -> str:
        """The id that a session has here, or gets."""
        if key not in self.ids:
            row = self._reader.imported(f"{self._agent}:{key}")
            if row is None or row.trashed:
                self._new.add(key)
                self.ids[key] = session_id()
            else:
                self.ids[key] = row.id
        return self.ids[key]

    def read_before(self, key: str) -> TranscriptRead | None:
        session = self.id_of(key)
        return None if key in self._new else last_read(self._reader, session)

    def close(self) -> None:
        if self._opened:
            self._opened.close()

    @property
    def _reader(self) -> Reader:
        self._opened = self._opened or self._open()
        return self._opened


def last_read(reader: Reader, session: str) -> TranscriptRead | None:
    """How far an imported session was read the last time."""
    found = reader.last_line(session, "transcript_read")
    if not found:
        return None
    return TranscriptRead(**{name: found[name] for name in TranscriptRead.__slots__ if name in found})
