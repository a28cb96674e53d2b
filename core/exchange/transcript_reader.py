"""Reads another program's transcript in batches of events, starting where the last import of the file ended."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from core.domain.clock import SECOND
from core.domain.events import SessionEvent
from core.domain.import_events import TranscriptImported
from core.domain.problems import Problem
from core.exchange.importers.message_parts import dict_or_empty
from core.exchange.importers.record import Importer, TranscriptRecord, open_transcript
from core.exchange.importers.registry import IMPORTERS
from core.exchange.importers.session_builder import SessionBuilder
from core.exchange.otlp_spans import OtlpSpan
from core.store.event_batch import EventBatch, encode_batch
from core.store.foreign_db import MAGIC, is_canceled

HEAD_BYTES = 65_536
BATCH_EVENTS = 400  # events after which a batch is full
BATCH_BYTES = 4 << 20  # bytes of records after which a batch is full
MALFORMED_ERRORS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
FORCED_SPLIT = 4  # a batch of this many times its usual size ends even where a reply may continue


class ImportBatch(NamedTuple):
    """A batch of events to write.

    `events` are the encoded events by session ID, and `added` is their number. `bytes_read` and `total_bytes` refer to
    the file. `sessions` are the sessions that got new events so far; if a file contains nothing new, its last batch has
    all sessions of the file.
    """

    bytes_read: int
    total_bytes: int
    added: int
    events: Mapping[str, EventBatch]
    sessions: tuple[str, ...]
    last: bool = False


@dataclass(slots=True)
class _PendingBatch:
    """A batch that is being filled: events in order, and the blobs they refer to, both by session ID."""

    events: dict[str, list[tuple[int, SessionEvent]]] = field(default_factory=dict)
    blobs: dict[str, dict[str, bytes]] = field(default_factory=dict)
    count: int = 0
    bytes: int = 0


@dataclass(slots=True)
class _ReadPosition:
    """How far the records of one session key were read.

    Attributes:
        imported_records: The number of records that were imported before, which are skipped.
        imported_digest: The digest of these records; empty if unknown.
        was_interrupted: Whether the last import ended before it stored its counts of unrecognized records.
        records: The number of records read now, the skipped ones included.
        stored_records: The value of `records` in the last position that was stored.
        digest: The digest of the records read now.
        builders: The builders of the session and of the sessions that its records refer to, by session key.
        counted_unrecognized: The counts of unrecognized records that earlier imports stored, by type.
    """

    imported_records: int = 0
    imported_digest: str = ""
    was_interrupted: bool = False
    records: int = 0
    stored_records: int = 0
    digest: hashlib.blake2b = field(default_factory=lambda: hashlib.blake2b(digest_size=12))
    builders: dict[str, SessionBuilder] = field(default_factory=dict)
    counted_unrecognized: dict[str, int] = field(default_factory=dict)


def detect_importer(path: Path) -> Importer:
    """Return the importer for a file. Raises Problem if no importer recognizes it."""
    if path.is_dir() and (path / "base_state.json").is_file():
        path = path / "base_state.json"
    head = _head(path)
    for importer in IMPORTERS:
        if importer.recognizes(path, head):
            return importer
    if head.startswith(MAGIC):
        cause = "It is an SQLite database of an unknown program."
    else:
        cause = "Its format is unknown." if head.strip() else "It is empty."
    names = ", ".join(["Journeyman", *sorted({importer.agent for importer in IMPORTERS})])
    raise Problem(f"{path.name} cannot be imported.", cause, f"Choose a session of {names}.")


def _head(path: Path) -> bytes:
    """Return the first bytes of a file.

    Raise Problem for a pipe, from which reading could block and works only once.
    """
    try:
        if not path.is_file() and path.exists():
            kind = "a folder" if path.is_dir() else "not a regular file"
            raise Problem(
                f"{path.name} cannot be imported.", f"It is {kind}.", "Choose a file, or save it to one first."
            )
        with open_transcript(path) as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise Problem(f"{path.name} cannot be read.", f"{error.strerror}.", "Choose an existing file.") from error


class TranscriptReader:
    """Reads one file once, or follows it while it grows.

    `id_of` returns the Journeyman ID for a session key. `last_import` returns how far the last import read the session.
    If `records` is given, the file is followed: `records` yields the new records on each call, and `read_new` the
    events made from them.
    """

    def __init__(
        self,
        path: Path,
        importer: Importer,
        id_of: Callable[[str], str],
        last_import: Callable[[str], TranscriptImported | None],
        records: Callable[[], Iterator[TranscriptRecord]] | None = None,
    ) -> None:
        self._path = path / "base_state.json" if path.is_dir() else path
        self._importer = importer
        self._records = records or partial(importer.read_records, self._path)
        self._followed = records is not None
        self._id_of = id_of
        self._last_import = last_import
        self._builders: dict[str, SessionBuilder] = {}
        self._positions: dict[str, _ReadPosition] = {}
        self._bytes_read = 0
        self._size = 0
        self._pending = _PendingBatch()
        self._skipping = False
        self._key: str | None = None
        self._current: tuple[SessionBuilder, _ReadPosition]
        self.sessions: list[str] = []

    def read_all(self, stopped: Callable[[], bool]) -> Iterator[ImportBatch]:
        """Yield all batches. When `stopped` returns true, end early with the batch that stores the position.

        If a part of the file cannot be read, the error is raised after the last batch.
        """
        failure = None
        is_canceled.set(stopped)  # a context variable, which reading a database later checks in this thread
        try:
            for batch in self.read_new():
                yield batch
                if stopped():
                    break
        except Problem as problem:
            failure = None if stopped() else problem
        yield self.finish()
        if failure:
            raise failure

    def read_new(self) -> Iterator[ImportBatch]:
        """Yield the new events in batches.

        The caller must then call `finish`, which stores the position, even if it stopped early.
        """
        self._size = _file_bytes(self._path)
        for record in self._translate_errors(self._records()):
            self._convert(record)
            self._bytes_read = min(record.bytes_read or self._bytes_read, self._size)
            pending = self._pending
            pending.bytes += len(record.raw)
            fill_level = max(pending.count / BATCH_EVENTS, pending.bytes / BATCH_BYTES)
            if fill_level >= 1 and (self._store_position() or fill_level >= FORCED_SPLIT):
                yield self._take_batch()
        if self._followed:
            if self._store_position():
                yield self._take_batch()
            return
        self._check_all_imported_read()
        if not self._positions:
            cause = f"It contains no records of {self._importer.agent}."
            raise Problem(f"{self._path.name} cannot be imported.", cause, "")
        yield self._take_batch()

    def _check_all_imported_read(self) -> None:
        """Raise Problem if a file of one session has fewer records than were imported before."""
        if len(self._positions) == 1:
            (position,) = self._positions.values()
            if position.records < position.imported_records:
                raise self._changed("It contains fewer records than were imported before.")

    def flush(self) -> ImportBatch:
        """Complete the replies that were waiting for more records, and return a batch with their events.

        Called when no new records have come for a while.
        """
        for position in self._positions.values():
            for builder in position.builders.values():
                builder.settle()
        self._store_position()
        return self._take_batch()

    def _translate_errors(self, records: Iterator[TranscriptRecord]) -> Iterator[TranscriptRecord]:
        try:
            yield from records
        except Problem as problem:
            if not self.sessions:
                raise
            details = problem.details
            raise Problem(f"{self._path.name} was imported only in part.", details.cause, details.fix) from problem
        except MALFORMED_ERRORS as error:
            cause = f"It does not match the transcript format of {self._importer.agent} ({error})."
            outcome = "was imported only in part" if self.sessions else "cannot be imported"
            raise Problem(f"{self._path.name} {outcome}.", cause, "") from error
        except OSError as error:
            cause = f"{error.strerror or error}."
            raise Problem(f"{self._path.name} could not be read to its end.", cause, "Import it again.") from error

    def finish(self) -> ImportBatch:
        """Close all sessions, and return the last batch. It also stores how far each session was read."""
        for position in self._positions.values():
            for builder in position.builders.values():
                builder.finish()
        for key, position in self._positions.items():
            if position.records > position.imported_records:
                self._add_import_event(key, position)
        all_ids = [self._id_of(key) for key, builder in self._builders.items() if builder.has_events()]
        return self._take_batch()._replace(added=0, sessions=tuple(self.sessions or all_ids), last=True)

    def _store_position(self) -> bool:
        """Add the read position to the batch, so that an interrupted import can be continued after it.

        Return false, with nothing added, while the next record may continue a reply.
        """
        if not all(
            builder.try_settle() for position in self._positions.values() for builder in position.builders.values()
        ):
            return False
        for key, position in self._positions.items():
            if position.records > max(position.imported_records, position.stored_records):
                self._add_import_event(key, position, is_partial=True)
        return True

    def _add_import_event(self, key: str, position: _ReadPosition, *, is_partial: bool = False) -> None:
        builder = self._builders[key]
        if not builder.has_events():
            return
        event = TranscriptImported(
            str(self._path),
            position.records,
            {} if is_partial else _new_unrecognized(builder, position),
            position.digest.hexdigest(),
            is_partial,
        )
        position.stored_records = position.records
        self._add_event(key, builder.latest, event, MappingProxyType({}))

    def _convert(self, record: TranscriptRecord) -> None:
        if record.key != self._key:
            self._switch_to(record.key)
        builder, position = self._current
        self._skipping = position.records < position.imported_records
        position.records += 1
        builder.record_count += 1
        position.digest.update(record.identity or record.raw)
        try:
            is_recognized = self._importer.convert(record, builder, self._referenced)
        except MALFORMED_ERRORS:  # a record of another program may have any shape
            is_recognized = False
        if not is_recognized:
            builder.keep_unrecognized(_record_type(record), record.raw.decode())
        if position.records == position.imported_records:
            self._reach_new_records(position, builder)
        self._skipping = False

    def _switch_to(self, key: str) -> None:
        """Continue with another session, to which the next records belong."""
        builder = self._builder(key)
        position = self._position(key)
        position.builders[key] = builder
        self._key = key
        self._current = (builder, position)

    def _referenced(self, key: str) -> SessionBuilder:
        """Return the builder of a session that the current session's records refer to, such as a sub-agent."""
        builder = self._builder(key)
        _, position = self._current
        position.builders[key] = builder
        return builder

    def _reach_new_records(self, position: _ReadPosition, builder: SessionBuilder) -> None:
        """Check that the skipped records are the ones imported before. Raise Problem if they were changed.

        The last import closed its sessions after these records. Closing them here as well, without writing the events
        again, leads to the same state.
        """
        if position.imported_digest and position.digest.hexdigest() != position.imported_digest:
            raise self._changed("Records that were imported before were changed.")
        for session_builder in position.builders.values():
            session_builder.finish()
        if not position.was_interrupted:  # an interrupted import stored no counts
            position.counted_unrecognized = dict(builder.unrecognized)

    def _changed(self, cause: str) -> Problem:
        fix = "Delete the imported session, then import the file again."
        return Problem(f"{self._path.name} has changed since it was imported.", cause, fix)

    def _builder(self, key: str) -> SessionBuilder:
        if key not in self._builders:
            self._builders[key] = builder = SessionBuilder(self._importer.agent, key, self._add_event, self._id_of)
            builder.fallback_time = int(self._path.stat().st_mtime * SECOND)
        return self._builders[key]

    def _position(self, key: str) -> _ReadPosition:
        if key not in self._positions:
            position = self._positions[key] = _ReadPosition()
            if last_import := self._last_import(key):
                position.imported_records = last_import.records
                position.imported_digest = last_import.digest
                position.was_interrupted = last_import.partial
        return self._positions[key]

    def _add_event(self, key: str, at: int, event: SessionEvent, contents: Mapping[str, bytes]) -> None:
        if self._skipping:
            return
        session = self._id_of(key)
        if session not in self.sessions:
            self.sessions.append(session)
        self._pending.events.setdefault(session, []).append((at, event))
        self._pending.count += 1
        if contents:
            self._pending.blobs.setdefault(session, {}).update(contents)

    def _take_batch(self) -> ImportBatch:
        pending = self._pending
        self._pending = _PendingBatch()
        encoded = {
            session: encode_batch(events, pending.blobs.get(session, {})) for session, events in pending.events.items()
        }
        return ImportBatch(self._bytes_read, self._size, pending.count, encoded, tuple(self.sessions))


def _new_unrecognized(builder: SessionBuilder, position: _ReadPosition) -> dict[str, int]:
    """Return the counts of unrecognized records, by type, that earlier imports did not store."""
    counts = {
        record_type: count - position.counted_unrecognized.get(record_type, 0)
        for record_type, count in builder.unrecognized.items()
    }
    return {record_type: count for record_type, count in counts.items() if count > 0}


def _record_type(record: TranscriptRecord) -> str:
    """Return a name for the type of an unrecognized record. The counts in the import event are grouped by it."""
    value = record.value
    if not isinstance(value, dict):
        if isinstance(value, OtlpSpan):
            return "span"
        return "not JSON" if value is None else "not an object"
    payload = dict_or_empty(value.get("payload"))
    names = (
        value.get("type") or value.get("kind") or value.get("role") or value.get("source"),
        payload.get("type") or payload.get("role") or value.get("subtype"),
    )
    label = "/".join(name for name in names if isinstance(name, str) and name)[:60]
    return label.encode("utf-8", "replace").decode() or "record"


def _file_bytes(path: Path) -> int:
    subagent_files = (path.with_suffix("") / "subagents").glob("*.jsonl")
    return path.stat().st_size + sum(file.stat().st_size for file in subagent_files)
