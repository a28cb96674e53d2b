"""What the window knows of sessions: their lines in the list, and which of them wait for the person."""

from collections.abc import Collection, Iterable, Sequence

from core.domain.sessions import SessionRow
from ui.ask.place import Asked
from ui.batch import Batch
from ui.reading import Reading
from ui.waiting import Waiting


class Known:
    """Nothing until there is a file to read; then kept up to date by what the engine tells."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.waiting = Waiting(reading)
        self._rows: dict[str, SessionRow] = {}

    def read(self) -> list[SessionRow]:
        """All that the file has."""
        rows = self.reading.reader.sessions() if self.reading.reader else []
        self._rows = {row.id: row for row in rows}
        return rows

    def __contains__(self, session: str) -> bool:
        return session in self._rows

    def row(self, session: str) -> SessionRow:
        """What is known of a session; an empty line of one that is not known."""
        return self._rows.get(session, SessionRow(session))

    def find(self, session: str) -> SessionRow | None:
        """The line of a session, also of one that no list has."""
        return self._rows.get(session) or (self.reading.session(session) if session else None)

    def newest(self) -> str:
        """The session that was worked in last; empty where there is none."""
        row = max(self._rows.values(), key=lambda row: row.updated, default=None)
        return row.id if row else ""

    def take(self, batch: Batch) -> bool:
        """What has happened; may something else wait for the person now?"""
        unknown = any(name not in self._rows for name in batch.touched)
        self._rows |= batch.touched
        return batch.asks or unknown

    def drop(self, names: Iterable[str]) -> None:
        """These are gone for good."""
        for name in names:
            self._rows.pop(name, None)

    def asked(self) -> list[tuple[SessionRow, Asked]]:
        """All that waits for the person, the oldest first."""
        return [(self.row(name), asked) for name, asked in self.waiting.asked]

    def asked_in(self, session: str) -> Sequence[Asked]:
        return self.waiting.of(session)

    def take_fresh(self) -> Collection[str]:
        """The sessions in which something new waits since the last look; said once."""
        return self.waiting.take_fresh()
