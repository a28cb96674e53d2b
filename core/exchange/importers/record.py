"""A record of a transcript: a line of its file, or a message in it, and how such files are read a part at a time."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from core.domain.clock import SECOND
from core.domain.problems import Problem
from core.exchange.importers.telling import Telling

LONGEST = 1 << 27  # bytes of a line; what is longer is kept as far as it goes
LARGEST = 1 << 28  # bytes of a file that can only be read as a whole
AHEAD = 1 << 20  # bytes that are read at once: other threads may have the interpreter each time


class Record(NamedTuple):
    """`key` is the session it belongs to, `value` what its JSON says (None where it is none), `done` how far it is.

    `raw` is what it is written as, in UTF-8. `mark` is what a record that was changed is told by, where that is not all
    of it.
    """

    key: str
    raw: bytes
    value: Any
    done: int = 0
    mark: bytes = b""


Open = Callable[[str], Telling]


Files = list[tuple[Path, str]]  # with the keys of their sessions


class Importer(Protocol):
    """How the transcripts of one program are read. `tell` says whether it understood the record."""

    agent: str
    usual: tuple[str, ...]

    def knows(self, path: Path, head: bytes) -> bool: ...

    def records(self, path: Path) -> Iterator[Record]: ...

    def tell(self, record: Record, telling: Telling, open: Open) -> bool: ...


def lines(path: Path, key: str, before: int = 0, start: int = 0) -> Iterator[Record]:
    """The lines of a file, each as a record; blank ones are none, and one that is half written waits."""
    with path.open("rb", AHEAD) as file:
        file.seek(start)
        at = before + start
        for line in iter(lambda: file.readline(LONGEST), b""):
            at += len(line)
            if line.isspace():
                continue
            raw, value = parsed(line.rstrip(b"\r\n"))
            if value is None and not line.endswith(b"\n") and len(line) < LONGEST:
                return  # its program is still writing it: the next reading finds it whole
            yield Record(key, raw, value, at)


def document(path: Path) -> Any:
    """A file that is one JSON value."""
    if path.stat().st_size > LARGEST:
        raise Problem(
            f"{path.name} is too large.", f"Such a file is read as a whole, up to {LARGEST >> 20} MB.", "Split it."
        )
    try:
        return json.loads(path.read_bytes())
    except RecursionError as error:
        raise Problem(f"{path.name} cannot be imported.", "Its JSON is nested too deep.", "") from error
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        why = f"Line {line}: expected JSON ({error})."
        raise Problem(f"{path.name} cannot be imported.", why, "Nothing of it was imported.") from error


def parsed(raw: bytes) -> tuple[bytes, Any]:
    """A line, in which U+FFFD stands for what is no UTF-8, and what it says; None where it is no JSON."""
    try:
        return raw, _quick()(raw)
    except ValueError:  # half a character, nested deep, a very long number: or no JSON
        text = raw.decode("utf-8", "replace")
    try:
        return text.encode(), json.loads(text)
    except (ValueError, RecursionError):
        return text.encode(), None


@cache
def _quick() -> Callable[[bytes], Any]:
    """What reads the same as `json.loads` does in half the time, or refuses it. A window opens without it."""
    from pydantic_core import from_json

    return partial(from_json, cache_strings="keys")


def written(value: Any) -> bytes:
    """A value as JSON."""
    return in_utf8(json.dumps(value, ensure_ascii=False))


def in_utf8(text: str) -> bytes:
    """Half a character becomes a question mark."""
    return text.encode("utf-8", "replace")


def listed(key: str, values: list[Any], total: int = 0, marks: Sequence[Any] = ()) -> Iterator[Record]:
    """The parts of a document, each as a record; `marks` are what stays of them while the document grows."""
    for place, value in enumerate(values, 1):
        mark = written(marks[place - 1]) if marks else b""
        yield Record(key, written(value), value, total * place // max(1, len(values)), mark)


def key_of(path: Path, name: str = "") -> str:
    """For a file that does not say which session it is: two of one name, in two folders, are two."""
    place = hashlib.blake2b(os.fsencode(path.resolve().parent), digest_size=4).hexdigest()
    return f"{name or path.stem} {place}"


def moment(value: Any) -> int:
    """A time in microseconds: ISO 8601, or seconds, milliseconds or nanoseconds since 1970; 0 where it is none."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
            return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * SECOND)
        except (ValueError, OverflowError, OSError):
            return 0
    if isinstance(value, int | float) and not isinstance(value, bool):
        for scale in (1_000_000, 1_000, 1):
            if 0 < value * scale < 1e17 and value * scale > 1e14:
                return int(value * scale)
        return int(value / 1_000) if 1e17 < value < 1e20 else 0
    return 0


def amount(value: Any) -> float | None:
    """A price; None where it is none."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9
    return float(value) if good else None


def number(value: Any) -> int:
    """A count; 0 where it is none."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12 else 0
