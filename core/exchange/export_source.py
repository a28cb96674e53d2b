"""What an export reads: a session and its sub-agents, event by event, with full texts and without secrets."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from core.domain.events import EventRecord, FileChanged
from core.domain.problems import Problem
from core.domain.rewind_events import FilesRewound
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.domain.text import Attachment
from core.exchange.export_redactor import ExportRedactor
from core.store.blobs import blob_hash
from core.store.codec import decode_event, load_texts
from core.store.reader import Reader

STEPS_PER_PAGE = 1000
EMPTY_BLOB = blob_hash(b"")


class ExportSource:
    """Reads one session and all of its sub-agents for an export. `sessions` lists parents before their children."""

    def __init__(self, reader: Reader, session: str, redactor: ExportRedactor) -> None:
        self._reader = reader
        self.redactor = redactor
        self._bodies: dict[str, str] = {}
        row = reader.session(session)
        if row is None:
            raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
        self.sessions = [redactor.redact_row(member) for member in _family(reader, row)]
        self.events_read = 0

    @property
    def root(self) -> SessionRow:
        return self.sessions[0]

    @property
    def event_count(self) -> int:
        """The number of events of all sessions."""
        return sum(row.last_seq for row in self.sessions)

    @property
    def title(self) -> str:
        return self.root.title

    def children(self, session: str) -> list[SessionRow]:
        return [row for row in self.sessions if row.parent == session and row.id != self.root.id]

    def events(self, row: SessionRow) -> Iterator[EventRecord]:
        """Yield the redacted events of a session. Events added after the export began are left out."""
        for seq, run, at, kind, payload in self._reader.raw_events(row.id, until=row.last_seq):
            event = load_texts(decode_event(kind, payload), self._reader.find_blob)
            self.redactor.session = row.id
            self.redactor.seq = seq
            self.events_read += 1
            yield EventRecord(row.id, seq, run, at, self.redactor.redact_event(event, self._redacted_hash))

    def steps(self, row: SessionRow) -> Iterator[Step]:
        """Yield the timeline steps of a session."""
        for first in range(0, row.rows, STEPS_PER_PAGE):
            for step in self._reader.steps(row.id, first, min(STEPS_PER_PAGE, row.rows - first)):
                yield step._replace(object=self.redactor.redact_text(step.object))

    def blobs(self, entry: EventRecord) -> Iterator[tuple[str, bytes]]:
        """Yield the hash and contents of the blobs that an event refers to: file states and attachments, not texts."""
        for name in referenced_blobs(entry.event):
            if (body := self.blob(name)) or name == EMPTY_BLOB:
                yield name, body

    def blob(self, name: str) -> bytes:
        """Return the redacted blob with this hash, as redacted events name it; empty if the blob was purged."""
        origin = next((old for old, new in self._bodies.items() if new == name), name)
        body = self._reader.find_blob(origin) or b""
        return self.redactor.redact_blob(body, counted=True) if origin != name else body

    def _redacted_hash(self, name: str) -> str:
        """Return the hash of a blob after redaction. The hash of a missing blob is returned unchanged."""
        if not name:
            return name
        if name not in self._bodies:
            body = self._reader.find_blob(name)
            clean = body if body is None else self.redactor.redact_blob(body)
            if clean is None or clean is body:
                return name
            self._bodies[name] = blob_hash(clean)
        return self._bodies[name]


def referenced_blobs(event: Any) -> list[str]:
    """Return the hashes of the blobs that an event or a value in it refers to, without repetition."""
    match event:
        case Attachment(blob=blob):
            hashes = [blob]
        case FileChanged(before=before, after=after):
            hashes = [before, after]
        case FilesRewound(files=files):
            hashes = [name for file in files for name in (file.before, file.after)]
        case _:
            parts = (getattr(event, field.name) for field in fields(event)) if is_dataclass(event) else ()
            tuples = (part for part in parts if isinstance(part, tuple))
            hashes = [name for part in tuples for item in part if is_dataclass(item) for name in referenced_blobs(item)]
    return list(dict.fromkeys(filter(None, hashes)))


def _family(reader: Reader, row: SessionRow) -> Iterator[SessionRow]:
    yield row
    for child in reader.children(row.id):
        yield from _family(reader, child)
