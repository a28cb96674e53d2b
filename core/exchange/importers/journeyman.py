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
BATCH_EVENTS = 400
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
    seqs: dict[str, int] = field(default_factory=dict)
    last: str = ""
    facts: int = 0
    contents: int = 0
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
                plain = _plain(line)
                if state is None:
                    state = _CheckState(_sessions(plain))
                else:
                    _check(plain, state)
            except _LineError as error:
                raise _bad(path, number, str(error)) from error
    if state is None:
        raise _bad(path, 1, "expected the header of an exported session, found an empty file")
    if not state.ended:
        raise _bad(path, number + 1, "expected the footer, found the end of the file: a part of it is missing")
    if missing := [name for name in state.sessions if name not in state.seqs]:
        raise _bad(path, number, f"expected events of the session {missing[0]}, which the header names, found none")
    return state.seqs


def read_batches(path: Path) -> Iterator[ExportedBatch]:
    """Yield the events of a file in order. The file must have passed `check_file`."""
    with open_transcript(path) as file:
        root = json.loads(file.readline(MAX_LINE_BYTES))["sessions"][0]
        batch, contents = ExportedBatch(root), dict[str, bytes]()
        for line in iter(lambda: file.readline(MAX_LINE_BYTES), b""):
            plain = json.loads(line)
            if "contents" in plain and "base64" in plain:
                contents[plain["contents"]] = base64.b64decode(plain["base64"])
                continue
            if "end" in plain:
                break
            if (
                plain["session"] != batch.session
                or len(batch.events) >= BATCH_EVENTS
                or batch.bytes > MAX_LINE_BYTES >> 8
            ):
                yield batch
                batch = ExportedBatch(plain["session"])
            batch.events.append(
                (plain["at"], _imported(type_adapter(plain["kind"]).validate_python(plain["fact"]), root))
            )
            batch.blobs |= contents
            batch.bytes += len(line) + sum(map(len, contents.values()))
            contents = {}
        yield batch


def _imported(event: SessionEvent, root: str) -> SessionEvent:
    """Return the event, changed if it creates a session: marked as imported, and the root without its former parent."""
    if not isinstance(event, SessionCreated):
        return event
    opened = replace(event, imported_from=event.imported_from or f"{AGENT}:{event.session_id}")
    return replace(opened, parent="", parent_call="", subagent="", depth=0) if event.session_id == root else opened


class _LineError(Exception):
    """Describes what is wrong with a line: what was expected, and what was found."""


def _bad(path: Path, line: int, cause: str) -> Problem:
    return Problem(f"{path.name} cannot be imported.", f"Line {line}: {cause}.", "Nothing was imported.")


def _plain(line: bytes) -> dict[str, Any]:
    if len(line) >= MAX_LINE_BYTES:
        raise _LineError("expected a line of at most 512 MB")
    try:
        plain = json.loads(line, parse_int=_stored_int)
    except RecursionError as error:
        raise _LineError("expected JSON, found it nested too deeply") from error
    except ValueError as error:
        raise _LineError(f"expected a line of JSON ({error})") from error
    if not isinstance(plain, dict):
        raise _LineError("expected a JSON object")
    return plain


def _stored_int(digits: str) -> int:
    number = int(digits)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError("a number is too large")
    return number


def _sessions(head: dict[str, Any]) -> list[str]:
    version, names = head.get("journeyman"), head.get("sessions")
    if type(version) is not int or version < 1:
        raise _LineError('expected the header of an exported session, {"journeyman": 1, …}')
    if version > VERSION:
        raise _LineError(f"expected format {VERSION}, found {version} of a newer Journeyman; update Journeyman")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise _LineError('expected "sessions" to be a list of ids')
    if bad := next((name for name in names if not is_session_id(name)), None):
        raise _LineError(f"expected an id of at most {MAX_ID_CHARS} letters and digits, found {bad[:80]!r}")
    if len(set(names)) != len(names):
        raise _LineError('expected each id in "sessions" once')
    return names


def _check(plain: dict[str, Any], state: _CheckState) -> None:
    if state.ended:
        raise _LineError("expected nothing after the footer")
    if "end" in plain:
        counted = (plain.get("facts"), plain.get("contents"))
        if counted != (state.facts, state.contents):
            raise _LineError(
                f"expected {state.facts} events and {state.contents} blobs, found {counted[0]} and {counted[1]}"
            )
        state.ended = True
    elif "contents" in plain and "base64" in plain:
        _check_contents(plain)
        state.contents += 1
    else:
        _check_event(plain, state)
        state.facts += 1


def _check_contents(plain: dict[str, Any]) -> None:
    try:
        body = base64.b64decode(plain["base64"], validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise _LineError(f"expected a blob in base64 ({error})") from error
    if blob_hash(body) != plain["contents"]:
        raise _LineError("expected a blob whose SHA-256 is its name; its contents were changed")


def _check_event(plain: dict[str, Any], state: _CheckState) -> None:
    session, seq, at, kind = (plain.get(name) for name in ("session", "seq", "at", "kind"))
    if not isinstance(session, str) or session not in state.sessions:
        raise _LineError(f"expected an event of a session that the header names, found {session!r}")
    if session in state.seqs and session != state.last:
        raise _LineError(f"expected the events of {session} together")
    expected = state.seqs.get(session, 0) + 1
    if seq != expected:
        raise _LineError(f"expected event {expected} of {session}, found {seq!r}")
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at < MAX_TIME:
        raise _LineError(f'expected "at" in microseconds, found {at!r}')
    if not isinstance(kind, str) or kind not in EVENT_CLASSES:
        raise _LineError(f"expected a known kind of event, found {kind!r}; a newer Journeyman may support it")
    try:
        event = type_adapter(kind).validate_python(plain.get("fact"), strict=False)
    except ValueError as error:  # pydantic.ValidationError is a ValueError
        raise _LineError(f"expected an event of the kind {kind}: {_first(error)}") from error
    opened = isinstance(event, SessionCreated)
    if opened != (expected == 1) or (isinstance(event, SessionCreated) and event.session_id != session):
        raise _LineError(f"expected the session {session} to be created once, by its first event and under its own id")
    if isinstance(event, SessionCreated) and session != state.sessions[0] and event.parent not in state.seqs:
        raise _LineError(f"expected the parent of {session} before it, found {event.parent!r}")
    state.seqs[session], state.last = expected, session


def _first(error: ValueError) -> str:
    """Return the first error of a pydantic.ValidationError in one line."""
    details: list[Any] = getattr(error, "errors", list)()
    if not details:
        return str(error).splitlines()[0]
    return f"{'.'.join(map(str, details[0]['loc'])) or 'event'}: {details[0]['msg']}"
