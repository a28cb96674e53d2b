"""Read a foreign transcript a part at a time: its records become facts, from where the last reading ended."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from core.domain.clock import SECOND
from core.domain.events import RunEvent
from core.domain.exchanged import TranscriptRead
from core.domain.problems import Problem
from core.exchange.importers.record import Importer, Record
from core.exchange.importers.table import IMPORTERS
from core.exchange.importers.telling import Telling
from core.exchange.spans import Span
from core.store.bulk import Bulk, bulk
from core.store.others import MAGIC

HEAD = 65_536
FACTS = 400  # of a part
BYTES = 4 << 20
STRANGE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
LATEST = 4  # times as much: by then a part ends even where a reply may go on


class Part(NamedTuple):
    """Facts by the id of their session here, ready to be written, of which so many are `added` to what was known.

    `done` of `size` bytes are read. `sessions` are those with something new so far; of the last part, where nothing is
    new, all that the file tells of.
    """

    done: int
    size: int
    added: int
    facts: Mapping[str, Bulk]
    sessions: tuple[str, ...]
    last: bool = False


@dataclass(slots=True)
class _Gathered:
    """What becomes a part: facts in order, with the contents they name."""

    facts: dict[str, list[tuple[int, RunEvent]]] = field(default_factory=dict)
    contents: dict[str, dict[str, bytes]] = field(default_factory=dict)
    count: int = 0
    bytes: int = 0


@dataclass(slots=True)
class _Place:
    """How far the records of one key are: so many are skipped because an earlier reading told them."""

    skip: int = 0
    digest: str = ""
    cut: bool = False
    records: int = 0
    noted: int = 0
    running: hashlib.blake2b = field(default_factory=lambda: hashlib.blake2b(digest_size=12))
    led: dict[str, Telling] = field(default_factory=dict)
    before: dict[str, int] = field(default_factory=dict)


def importer_of(path: Path) -> Importer:
    """Who wrote a file. Raises Problem where nobody known did."""
    if path.is_dir() and (path / "base_state.json").is_file():
        path = path / "base_state.json"
    head = _head(path)
    for importer in IMPORTERS:
        if importer.knows(path, head):
            return importer
    what = (
        "It is an SQLite database of a program that is not known"
        if head.startswith(MAGIC)
        else ("Its form is not known" if head.strip() else "It is empty")
    )
    names = ", ".join(["Journeyman", *sorted(importer.agent for importer in IMPORTERS)])
    raise Problem(f"{path.name} cannot be imported.", f"{what}.", f"What can be read are sessions of {names}.")


def _head(path: Path) -> bytes:
    """What a file begins with. A pipe would be waited for, and cannot be read twice."""
    try:
        if not path.is_file() and path.exists():
            kind = "a folder" if path.is_dir() else "no ordinary file"
            raise Problem(f"{path.name} cannot be imported.", f"It is {kind}.", "Name a file, or save it to one first.")
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError as error:
        raise Problem(f"{path.name} cannot be read.", f"{error.strerror}.", "Name a file that is there.") from error


class Reading:
    """One reading of one file.

    `id_of` gives the id that a session of the transcript has or gets here, `read_before` what is known of it from an
    earlier reading: how many records, and their digest. With `records` of its own it is followed as it grows: then
    `parts` gives what came since, once that can be a fact.
    """

    def __init__(
        self,
        path: Path,
        importer: Importer,
        id_of: Callable[[str], str],
        read_before: Callable[[str], TranscriptRead | None],
        records: Callable[[], Iterator[Record]] | None = None,
    ) -> None:
        self._path = path / "base_state.json" if path.is_dir() else path
        self._importer = importer
        self._records = records or partial(importer.records, self._path)
        self._followed = records is not None
        self._id_of = id_of
        self._read_before = read_before
        self._tellings: dict[str, Telling] = {}
        self._places: dict[str, _Place] = {}
        self._done = 0
        self._size = 0
        self._gathered = _Gathered()
        self._silent = False
        self._key: str | None = None
        self._heard: tuple[Telling, _Place]
        self.sessions: list[str] = []

    def whole(self, stopped: Callable[[], bool]) -> Iterator[Part]:
        """All parts, or those until a stop, and the `end`; only then what is wrong with the file is raised."""
        wrong = None
        try:
            for part in self.parts():
                yield part
                if stopped():
                    break
        except Problem as problem:
            wrong = problem
        yield self.end()
        if wrong:
            raise wrong

    def parts(self) -> Iterator[Part]:
        """Everything that is new, in parts. After the last one, and after a cut, `end` tells how far it went."""
        self._size = _size(self._path)
        for record in self._safely(self._records()):
            self._hear(record)
            self._done = record.done or self._done
            gathered = self._gathered
            gathered.bytes += len(record.raw)
            full = max(gathered.count / FACTS, gathered.bytes / BYTES)
            if full >= 1 and (self._note() or full >= LATEST):
                yield self._next()
        if self._followed:
            if self._note():
                yield self._next()
            return
        if len(self._places) == 1 and (place := next(iter(self._places.values()))).records < place.skip:
            raise self._changed("It holds less than was imported before.")
        if not self._places:
            why = f"It holds no record of {self._importer.agent}."
            raise Problem(f"{self._path.name} cannot be imported.", why, "")
        yield self._next()

    def rest(self) -> Part:
        """Nothing came for a moment: what is held back waits for nothing more."""
        for place in self._places.values():
            for telling in place.led.values():
                telling.rest()
        self._note()
        return self._next()

    def _safely(self, records: Iterator[Record]) -> Iterator[Record]:
        try:
            yield from records
        except Problem as problem:
            if not self.sessions:
                raise
            found = problem.trouble
            raise Problem(f"{self._path.name} is imported only in part.", found.why, found.do) from problem
        except STRANGE as error:
            why = f"It is no transcript of {self._importer.agent} as far as that is known ({error})."
            what = "is imported only in part" if self.sessions else "cannot be imported"
            raise Problem(f"{self._path.name} {what}.", why, "") from error
        except OSError as error:
            why = f"{error.strerror or error}."
            raise Problem(f"{self._path.name} cannot be read on.", why, "Import it once more.") from error

    def end(self) -> Part:
        """Close what is open, and say how far each session was read."""
        for place in self._places.values():
            for telling in place.led.values():
                telling.close()
        for key, place in self._places.items():
            if place.records > place.skip:
                self._read(key, place)
        told = [self._id_of(key) for key, telling in self._tellings.items() if telling.is_open()]
        return self._next()._replace(added=0, sessions=tuple(self.sessions or told), last=True)

    def _note(self) -> bool:
        """Say how far it is, so that after a cut the next reading goes on there; not while a reply may go on."""
        if not all(telling.settled() for place in self._places.values() for telling in place.led.values()):
            return False
        for key, place in self._places.items():
            if place.records > max(place.skip, place.noted):
                self._read(key, place, more=True)
        return True

    def _read(self, key: str, place: _Place, *, more: bool = False) -> None:
        telling = self._tellings[key]
        if not telling.is_open():
            return
        kept = {form: count - place.before.get(form, 0) for form, count in telling.kept.items()}
        kept = {form: count for form, count in kept.items() if count > 0 and not more}
        digest = place.running.hexdigest()
        read = TranscriptRead(str(self._path), place.records, kept, digest, more)
        place.noted = place.records
        self._take(key, telling.at, read, MappingProxyType({}))

    def _hear(self, record: Record) -> None:
        if record.key != self._key:
            self._turn_to(record.key)
        telling, place = self._heard
        self._silent = place.records < place.skip
        place.records += 1
        telling.records += 1
        place.running.update(record.mark or record.raw)
        try:
            understood = self._importer.tell(record, telling, self._other)
        except STRANGE:  # what others write may have any form
            understood = False
        if not understood:
            telling.keep(_form(record), record.raw.decode())
        if place.records == place.skip:
            self._come_to_the_new(place, telling)
        self._silent = False

    def _turn_to(self, key: str) -> None:
        """The records of another session follow."""
        telling, place = self._telling(key), self._place(key)
        place.led[key] = telling
        self._key, self._heard = key, (telling, place)

    def _other(self, key: str) -> Telling:
        """A session that the records of this one lead to."""
        self._heard[1].led[key] = found = self._telling(key)
        return found

    def _come_to_the_new(self, place: _Place, telling: Telling) -> None:
        """Where the last reading ended, its sessions were closed; they are again, without a word."""
        if place.digest and place.running.hexdigest() != place.digest:
            raise self._changed("Records that were imported before have changed.")
        for each in place.led.values():
            each.close()
        place.before = {} if place.cut else dict(telling.kept)  # where it was cut, nobody has counted yet

    def _changed(self, why: str) -> Problem:
        do = "Delete the imported session, then import the file once more."
        return Problem(f"{self._path.name} is not what it was.", why, do)

    def _telling(self, key: str) -> Telling:
        if key not in self._tellings:
            self._tellings[key] = telling = Telling(self._importer.agent, key, self._take, self._id_of)
            telling.usual = int(self._path.stat().st_mtime * SECOND)
        return self._tellings[key]

    def _place(self, key: str) -> _Place:
        if key not in self._places:
            read = self._read_before(key)
            self._places[key] = _Place(read.records, read.digest, read.more) if read else _Place()
        return self._places[key]

    def _take(self, key: str, at: int, event: RunEvent, contents: Mapping[str, bytes]) -> None:
        if self._silent:
            return
        session = self._id_of(key)
        if session not in self.sessions:
            self.sessions.append(session)
        self._gathered.facts.setdefault(session, []).append((at, event))
        self._gathered.count += 1
        if contents:
            self._gathered.contents.setdefault(session, {}).update(contents)

    def _next(self) -> Part:
        it, self._gathered = self._gathered, _Gathered()
        packed = {session: bulk(facts, it.contents.get(session, {})) for session, facts in it.facts.items()}
        return Part(self._done, self._size, it.count, packed, tuple(self.sessions))


def _form(record: Record) -> str:
    """What a record calls itself."""
    said = record.value
    if not isinstance(said, dict):
        return "not JSON" if said is None else "span" if isinstance(said, Span) else "no object"
    payload = said.get("payload")
    inner = payload.get("type") or payload.get("role") if isinstance(payload, dict) else None
    names = (
        said.get("type") or said.get("kind") or said.get("role") or said.get("source"),
        inner or said.get("subtype"),
    )
    found = "/".join(name for name in names if isinstance(name, str) and name)[:60]
    return found.encode("utf-8", "replace").decode() or "record"


def _size(path: Path) -> int:
    beside = (path.with_suffix("") / "subagents").glob("*.jsonl")
    return path.stat().st_size + sum(each.stat().st_size for each in beside)
