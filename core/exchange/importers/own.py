"""Our own format read back: looked through to its end before anything of it is written."""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.domain.events import KINDS, RunEvent, SessionOpened
from core.domain.problems import Problem
from core.exchange.exporters.own import VERSION
from core.store.blobs import blob_hash
from core.store.codec import adapter

AGENT = "Journeyman"
BATCH = 400
LONGEST = 1 << 29  # bytes of a line
MOST_AT = 1 << 62
MARK = b'{"journeyman":'


@dataclass(slots=True)
class Batch:
    """Facts of one session that follow each other, with their times, and contents to be kept before them."""

    session: str
    facts: list[tuple[int, RunEvent]] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    bytes: int = 0


@dataclass(slots=True)
class _Seen:
    """What was met so far."""

    sessions: list[str]
    seqs: dict[str, int] = field(default_factory=dict)
    last: str = ""
    facts: int = 0
    contents: int = 0
    ended: bool = False


def knows(head: bytes) -> bool:
    """Does a file that begins so hold our format?"""
    return head.lstrip().replace(b'" :', b'":').startswith(MARK)


def check(path: Path) -> dict[str, int]:
    """The sessions of a file and how many facts each has. Raises Problem, with the line, where something is wrong."""
    with path.open("rb") as file:
        seen: _Seen | None = None
        for number, line in enumerate(iter(lambda: file.readline(LONGEST), b""), 1):
            try:
                plain = _plain(line)
                if seen is None:
                    seen = _Seen(_sessions(plain))
                else:
                    _check(plain, seen)
            except _Wrong as wrong:
                raise _bad(path, number, str(wrong)) from wrong
    if seen is None:
        raise _bad(path, 1, "expected the head of an exported session, found an empty file")
    if not seen.ended:
        raise _bad(path, number + 1, "expected more: the file ends before its last line, so a part of it is missing")
    if missing := [name for name in seen.sessions if name not in seen.seqs]:
        raise _bad(path, number, f"expected facts of the session {missing[0]}, which the head names; there are none")
    return seen.seqs


def batches(path: Path) -> Iterator[Batch]:
    """What a file that was checked holds, in order and in parts."""
    with path.open("rb") as file:
        root = json.loads(file.readline(LONGEST))["sessions"][0]
        batch, contents = Batch(root), dict[str, bytes]()
        for line in iter(lambda: file.readline(LONGEST), b""):
            plain = json.loads(line)
            if "contents" in plain and "base64" in plain:
                contents[plain["contents"]] = base64.b64decode(plain["base64"])
                continue
            if "end" in plain:
                break
            if plain["session"] != batch.session or len(batch.facts) >= BATCH or batch.bytes > LONGEST >> 8:
                yield batch
                batch = Batch(plain["session"])
            batch.facts.append((plain["at"], _imported(adapter(plain["kind"]).validate_python(plain["fact"]), root)))
            batch.contents |= contents
            batch.bytes += len(line) + sum(map(len, contents.values()))
            contents = {}
        yield batch


def _imported(event: RunEvent, root: str) -> RunEvent:
    """The first fact says where it is from, and the session that was exported belongs to nobody here."""
    if not isinstance(event, SessionOpened):
        return event
    opened = replace(event, source=event.source or f"{AGENT}:{event.session_id}")
    return replace(opened, parent="", parent_call="", called="", depth=0) if event.session_id == root else opened


class _Wrong(Exception):
    """What was expected of a line, and what was found."""


def _bad(path: Path, line: int, why: str) -> Problem:
    return Problem(f"{path.name} cannot be imported.", f"Line {line}: {why}.", "Nothing of it was imported.")


def _plain(line: bytes) -> dict[str, Any]:
    if len(line) >= LONGEST:
        raise _Wrong("expected a line of at most 512 MB")
    try:
        plain = json.loads(line)
    except RecursionError as error:
        raise _Wrong("expected flat JSON, found it nested too deep") from error
    except ValueError as error:
        raise _Wrong(f"expected a line of JSON ({error})") from error
    if not isinstance(plain, dict):
        raise _Wrong("expected a JSON object")
    return plain


def _sessions(head: dict[str, Any]) -> list[str]:
    version, names = head.get("journeyman"), head.get("sessions")
    if not isinstance(version, int):
        raise _Wrong('expected the head of an exported session, {"journeyman": 1, …}')
    if version > VERSION:
        raise _Wrong(f"expected format {VERSION}, found {version}, which a newer Journeyman wrote; update this one")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise _Wrong('expected "sessions", a list of names')
    if len(set(names)) != len(names):
        raise _Wrong('expected each of "sessions" once')
    return names


def _check(plain: dict[str, Any], seen: _Seen) -> None:
    if seen.ended:
        raise _Wrong("expected nothing after the last line")
    if "end" in plain:
        counted = (plain.get("facts"), plain.get("contents"))
        if counted != (seen.facts, seen.contents):
            raise _Wrong(
                f"expected {seen.facts} facts and {seen.contents} contents, found {counted[0]} and {counted[1]}"
            )
        seen.ended = True
    elif "contents" in plain and "base64" in plain:
        _check_contents(plain)
        seen.contents += 1
    else:
        _check_fact(plain, seen)
        seen.facts += 1


def _check_contents(plain: dict[str, Any]) -> None:
    try:
        body = base64.b64decode(plain["base64"], validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise _Wrong(f"expected contents in base64 ({error})") from error
    if blob_hash(body) != plain["contents"]:
        raise _Wrong("expected contents whose SHA-256 is their name: they were changed")


def _check_fact(plain: dict[str, Any], seen: _Seen) -> None:
    session, seq, at, kind = (plain.get(name) for name in ("session", "seq", "at", "kind"))
    if not isinstance(session, str) or session not in seen.sessions:
        raise _Wrong(f"expected a fact of a session that the head names, found {session!r}")
    if session in seen.seqs and session != seen.last:
        raise _Wrong(f"expected the facts of {session} together")
    wanted = seen.seqs.get(session, 0) + 1
    if seq != wanted:
        raise _Wrong(f"expected fact {wanted} of {session}, found {seq!r}")
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at < MOST_AT:
        raise _Wrong(f'expected "at" in microseconds, found {at!r}')
    if not isinstance(kind, str) or kind not in KINDS:
        raise _Wrong(f"expected a kind of fact that this Journeyman knows, found {kind!r}; a newer one may know it")
    try:
        event = adapter(kind).validate_python(plain.get("fact"), strict=False)
    except ValueError as error:  # of pydantic
        raise _Wrong(f"expected a fact of the kind {kind}: {_first(error)}") from error
    opened = isinstance(event, SessionOpened)
    if opened != (wanted == 1) or (isinstance(event, SessionOpened) and event.session_id != session):
        raise _Wrong(f"expected each session to be opened once, by its first fact and under its own name {session}")
    if isinstance(event, SessionOpened) and session != seen.sessions[0] and event.parent not in seen.seqs:
        raise _Wrong(f"expected the session that {session} belongs to before it, found {event.parent!r}")
    seen.seqs[session], seen.last = wanted, session


def _first(error: ValueError) -> str:
    """What is wrong first, in one line."""
    details: list[Any] = getattr(error, "errors", list)()
    if not details:
        return str(error).splitlines()[0]
    return f"{'.'.join(map(str, details[0]['loc'])) or 'it'}: {details[0]['msg']}"
