"""Imports Journeyman's own export format. A file is validated completely before anything is written."""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.domain.events import EVENT_CLASSES, SessionCreated, SessionEvent
from core.domain.ids import MAX_ID_CHARS, is_session_id
from core.domain.problems import Problem
from core.exchange.exporters.journeyman import VERSION
from core.exchange.importers.record import open_transcript
from core.store.blobs import blob_hash
from core.store.codec import type_adapter

AGENT = "Journeyman"
BATCH_EVENTS = 400  # events after which a batch is full
BATCH_BYTES = 1 << 21  # bytes of lines after which a batch is full
MAX_LINE_BYTES = 1 << 29  # longest line that is accepted
MAX_TIME = 1 << 62  # upper limit for the time of an event, in microseconds since 1970
MAGIC = b'{"journeyman":'


@dataclass(slots=True)
class ExportedBatch:
    """Consecutive events of one session, each with its time, and the blobs they refer to.

    `bytes` is the size of these lines in the file.
    """

    session: str
    events: list[tuple[int, SessionEvent]] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    bytes: int = 0


@dataclass(slots=True)
class _CheckState:
    """What the check of a file has read so far: the header's sessions, their last sequence numbers, and counts."""

    sessions: list[str]
    last_seqs: dict[str, int] = field(default_factory=dict)
    current_session: str = ""
    event_count: int = 0
    blob_count: int = 0
    ended: bool = False


def recognizes(head: bytes) -> bool:
    """Return whether a file that starts with `head` has this format."""
    return head.lstrip().replace(b'" :', b'":').startswith(MAGIC)


def check_file(path: Path) -> dict[str, int]:
    """Check a whole file. Return the number of events of each session.

    Raise a Problem that names the first bad line.
    """
    with open_transcript(path) as file:
        state: _CheckState | None = None
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b""), 1):
            try:
                entry = _parse_line(line)
                if state is None:
                    state = _CheckState(_parse_header(entry))
                else:
                    _check_line(entry, state)
            except _LineError as error:
                raise _line_problem(path, number, str(error)) from error
    if state is None:
        raise _line_problem(path, 1, "expected the header of an exported session, found an empty file")
    if not state.ended:
        raise _line_problem(path, number + 1, "expected the footer, found the end of the file: a part of it is missing")
    for session in state.sessions:
        if session not in state.last_seqs:
            cause = f"expected events of the session {session}, which the header names, found none"
            raise _line_problem(path, number, cause)
    return state.last_seqs


def read_batches(path: Path) -> Iterator[ExportedBatch]:
    """Yield the events of a file in order. The file must have passed `check_file`."""
    with open_transcript(path) as file:
        root = json.loads(file.readline(MAX_LINE_BYTES))["sessions"][0]
        batch = ExportedBatch(root)
        blobs: dict[str, bytes] = {}  # blobs precede the event that refers to them
        for line in iter(lambda: file.readline(MAX_LINE_BYTES), b""):
            entry = json.loads(line)
            if _is_blob(entry):
                blobs[entry["contents"]] = base64.b64decode(entry["base64"])
                continue
            if "end" in entry:
                break
            is_full = len(batch.events) >= BATCH_EVENTS or batch.bytes > BATCH_BYTES
            if is_full or entry["session"] != batch.session:
                yield batch
                batch = ExportedBatch(entry["session"])
            event = type_adapter(entry["kind"]).validate_python(entry["fact"])
            batch.events.append((entry["at"], _imported(event, root)))
            batch.blobs |= blobs
            batch.bytes += len(line) + sum(map(len, blobs.values()))
            blobs = {}
        yield batch


def _is_blob(entry: dict[str, Any]) -> bool:
    return "contents" in entry and "base64" in entry


def _imported(event: SessionEvent, root: str) -> SessionEvent:
    """Return the event, changed if it creates a session: marked as imported, and the root without its former parent."""
    if not isinstance(event, SessionCreated):
        return event
    event = replace(event, imported_from=event.imported_from or f"{AGENT}:{event.session_id}")
    if event.session_id == root:
        return replace(event, parent="", parent_call="", subagent="", depth=0)
    return event


class _LineError(Exception):
    """Describes what is wrong with a line: what was expected, and what was found."""


def _line_problem(path: Path, line: int, cause: str) -> Problem:
    return Problem(f"{path.name} cannot be imported.", f"Line {line}: {cause}.", "Nothing was imported.")


def _parse_line(line: bytes) -> dict[str, Any]:
    if len(line) >= MAX_LINE_BYTES:
        raise _LineError("expected a line of at most 512 MB")
    try:
        entry = json.loads(line, parse_int=_stored_int)
    except RecursionError as error:
        raise _LineError("expected JSON, found it nested too deeply") from error
    except ValueError as error:
        raise _LineError(f"expected a line of JSON ({error})") from error
    if not isinstance(entry, dict):
        raise _LineError("expected a JSON object")
    return entry


def _stored_int(digits: str) -> int:
    number = int(digits)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError("a number is too large")
    return number


def _parse_header(header: dict[str, Any]) -> list[str]:
    """Return the IDs of the sessions that the header names."""
    version, names = header.get("journeyman"), header.get("sessions")
    if type(version) is not int or version < 1:
        raise _LineError('expected the header of an exported session, {"journeyman": 1, …}')
    if version > VERSION:
        raise _LineError(f"expected format {VERSION}, found {version} of a newer Journeyman; update Journeyman")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise _LineError('expected "sessions" to be a list of ids')
    if invalid := next((name for name in names if not is_session_id(name)), None):
        raise _LineError(f"expected an id of at most {MAX_ID_CHARS} letters and digits, found {invalid[:80]!r}")
    if len(set(names)) != len(names):
        raise _LineError('expected each id in "sessions" once')
    return names


def _check_line(entry: dict[str, Any], state: _CheckState) -> None:
    if state.ended:
        raise _LineError("expected nothing after the footer")
    if "end" in entry:
        _check_footer(entry, state)
        state.ended = True
    elif _is_blob(entry):
        _check_blob(entry)
        state.blob_count += 1
    else:
        _check_event(entry, state)
        state.event_count += 1


def _check_footer(footer: dict[str, Any], state: _CheckState) -> None:
    events, blobs = footer.get("facts"), footer.get("contents")
    if events != state.event_count or blobs != state.blob_count:
        raise _LineError(
            f"expected {state.event_count} events and {state.blob_count} blobs, found {events} and {blobs}"
        )


def _check_blob(entry: dict[str, Any]) -> None:
    try:
        body = base64.b64decode(entry["base64"], validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise _LineError(f"expected a blob in base64 ({error})") from error
    if blob_hash(body) != entry["contents"]:
        raise _LineError("expected a blob whose SHA-256 is its name; its contents were changed")


def _check_event(entry: dict[str, Any], state: _CheckState) -> None:
    """Check an event: its session, its number there, its time, and whether it is a valid event of its kind."""
    session, seq, at, kind = (entry.get(name) for name in ("session", "seq", "at", "kind"))
    if not isinstance(session, str) or session not in state.sessions:
        raise _LineError(f"expected an event of a session that the header names, found {session!r}")
    if session in state.last_seqs and session != state.current_session:
        raise _LineError(f"expected the events of {session} together")
    expected = state.last_seqs.get(session, 0) + 1
    if seq != expected:
        raise _LineError(f"expected event {expected} of {session}, found {seq!r}")
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at < MAX_TIME:
        raise _LineError(f'expected "at" in microseconds, found {at!r}')
    if not isinstance(kind, str) or kind not in EVENT_CLASSES:
        raise _LineError(f"expected a known kind of event, found {kind!r}; a newer Journeyman may support it")
    try:
        event = type_adapter(kind).validate_python(entry.get("fact"), strict=False)
    except ValueError as error:  # pydantic.ValidationError is a ValueError
        raise _LineError(f"expected an event of the kind {kind}: {_first_error(error)}") from error
    _check_creation(event, session, seq, state)
    state.last_seqs[session] = seq
    state.current_session = session


def _check_creation(event: SessionEvent, session: str, seq: int, state: _CheckState) -> None:
    """Check that exactly the first event of a session creates it, and that its parent is in the file before it."""
    is_creation = isinstance(event, SessionCreated)
    has_other_id = isinstance(event, SessionCreated) and event.session_id != session
    if is_creation != (seq == 1) or has_other_id:
        raise _LineError(f"expected the session {session} to be created once, by its first event and under its own id")
    is_root = session == state.sessions[0]
    if isinstance(event, SessionCreated) and not is_root and event.parent not in state.last_seqs:
        raise _LineError(f"expected the parent of {session} before it, found {event.parent!r}")


def _first_error(error: ValueError) -> str:
    """Return the first error of a pydantic.ValidationError in one line."""
    errors: list[Any] = getattr(error, "errors", list)()
    if not errors:
        return str(error).splitlines()[0]
    field_path = ".".join(map(str, errors[0]["loc"]))
    return f"{field_path or 'event'}: {errors[0]['msg']}"
