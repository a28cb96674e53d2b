"""What an exporter is given: a session and those it began, fact by fact, whole, and without secrets."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from core.domain.events import Entry, FileChanged
from core.domain.problems import Problem
from core.domain.rewinding import FilesRewound
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.domain.text import Attachment
from core.exchange.clean import Cleaner
from core.store.blobs import blob_hash
from core.store.codec import decode, whole
from core.store.reader import Reader

PAGE = 1000
EMPTY = blob_hash(b"")


@dataclass(frozen=True, slots=True)
class Progress:
    """How many facts of how many are done."""

    done: int
    all: int


class Leaving:
    """One export. `family` is the session and all that it led to, parents before their children."""

    def __init__(self, reader: Reader, session: str, cleaner: Cleaner) -> None:
        self._reader = reader
        self.cleaner = cleaner
        self._bodies: dict[str, str] = {}
        found = reader.session(session)
        if found is None:
            raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
        self.family = list(_family(reader, found))
        self.done = 0

    @property
    def root(self) -> SessionRow:
        return self.family[0]

    @property
    def facts(self) -> int:
        """How many there are to tell."""
        return sum(row.seq for row in self.family)

    @property
    def title(self) -> str:
        return self.cleaner.text(self.root.title)

    def children(self, session: str) -> list[SessionRow]:
        return [row for row in self.family if row.parent == session and row.id != self.root.id]

    def entries(self, row: SessionRow) -> Iterator[Entry]:
        """The facts of a session, as far as they went when the export began."""
        for seq, run, at, kind, payload in self._reader.raw(row.id, 0, row.seq):
            event = whole(decode(kind, payload), self._reader.kept)
            self.cleaner.session, self.cleaner.seq = row.id, seq
            self.done += 1
            yield Entry(row.id, seq, run, at, self.cleaner.event(event, self._renamed))

    def steps(self, row: SessionRow) -> Iterator[Step]:
        """The rows of a session."""
        for first in range(0, row.rows, PAGE):
            for step in self._reader.steps(row.id, first, min(PAGE, row.rows - first)):
                yield step._replace(object=self.cleaner.text(step.object))

    def contents(self, entry: Entry) -> Iterator[tuple[str, bytes]]:
        """The contents that a fact names besides its words: files before and after, pictures."""
        for name in named(entry.event):
            if (body := self.body(name)) or name == EMPTY:
                yield name, body

    def body(self, name: str) -> bytes:
        """The contents that a clean fact names; empty where they are gone."""
        origin = next((old for old, new in self._bodies.items() if new == name), name)
        body = self._reader.kept(origin) or b""
        return self.cleaner.body(body, again=True) if origin != name else body

    def _renamed(self, name: str) -> str:
        """What contents are called once they are clean."""
        if not name:
            return name
        if name not in self._bodies:
            body = self._reader.kept(name)
            clean = body if body is None else self.cleaner.body(body)
            if clean is None or clean is body:
                return name
            self._bodies[name] = blob_hash(clean)
        return self._bodies[name]


def named(event: Any) -> list[str]:
    """The contents that a fact or a part of it names, each once."""
    match event:
        case Attachment(blob=blob):
            found = [blob]
        case FileChanged(before=before, after=after):
            found = [before, after]
        case FilesRewound(files=files):
            found = [name for file in files for name in (file.before, file.after)]
        case _:
            parts = (getattr(event, field.name) for field in fields(event)) if is_dataclass(event) else ()
            tuples = (part for part in parts if isinstance(part, tuple))
            found = [name for part in tuples for item in part if is_dataclass(item) for name in named(item)]
    return list(dict.fromkeys(filter(None, found)))


def _family(reader: Reader, row: SessionRow) -> Iterator[SessionRow]:
    yield row
    for child in reader.children(row.id):
        yield from _family(reader, child)
