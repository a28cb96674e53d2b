"""Records, the units in which importers read a transcript: the lines of a file, or the messages in a document."""

import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from itertools import repeat
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from core.domain.clock import SECOND
from core.domain.event_values import Usage
from core.domain.problems import Problem
from core.domain.text import to_utf8
from core.exchange.importers.session_builder import SessionBuilder

MAX_LINE_BYTES = 1 << 27  # a longer line is split
MAX_DOCUMENT_BYTES = 1 << 28  # a larger file is refused if it must be read as a whole
MAX_DETAILS_BYTES = 1 << 24  # a larger file with details of a session is ignored
COMPRESSED_SUFFIXES = (".gz", ".zst")
GZIP_MAGIC, ZSTD_MAGIC, ZIP_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
# A number is read as a time in the unit that puts it between 1973 and 5138. Both limits are in microseconds.
MIN_TIME, MAX_TIME = 10**14, 10**17
BUFFER_BYTES = 1 << 20  # bytes per read; each read releases the GIL


class TranscriptRecord(NamedTuple):
    """A record of the session `key`, which is an importer's name for the session.

    `raw` is the record in UTF-8. `bytes_read` is the number of bytes of the file up to its end. `value` is the parsed
    JSON, None if it is not JSON, or an object of the importer's own. If a later import finds another `identity` at this
    place, the file was changed since; without an identity, `raw` is compared.
    """

    key: str
    raw: bytes
    value: Any
    bytes_read: int = 0
    identity: bytes = b""


@dataclass(frozen=True, slots=True)
class SessionDetails:
    """The value of a record about a session as a whole, such as its title, folder and model.

    `has_uncounted_usage` tells whether the values include token counts that are not in the records of replies.
    """

    values: dict[str, Any]
    has_uncounted_usage: bool = False


OpenSession = Callable[[str], SessionBuilder]
SessionFiles = list[tuple[Path, str]]  # the files of a transcript, each with the key of its session


class Importer(Protocol):
    """Reads the transcripts of one program.

    `default_locations` are glob patterns below the home folder. `recognizes` decides from the path and the first bytes
    of a file whether this importer can read it. `read_records` yields its records. `convert` adds a record to a session
    and returns whether it understood the record. `open_session` gives `convert` the other sessions that a record refers
    to, such as sub-agents.
    """

    agent: str
    default_locations: tuple[str, ...]

    def recognizes(self, path: Path, head: bytes) -> bool: ...

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]: ...

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool: ...


def plain_path(path: Path) -> Path:
    """Return the path without a suffix such as `.gz`, so that it names the uncompressed file."""
    return path.with_suffix("") if path.suffix in COMPRESSED_SUFFIXES else path


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed. The size of such a file says little about the size of its contents."""
    if path.is_dir():
        return False
    with path.open("rb") as file:
        return file.read(4).startswith((GZIP_MAGIC, ZSTD_MAGIC, ZIP_MAGIC))


@contextmanager
def open_transcript(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that may be compressed with gzip or zstd. Raises Problem if the compressed data is damaged."""
    with path.open("rb", BUFFER_BYTES) as file:
        magic = file.read(4)
        file.seek(0)
        try:
            if magic.startswith(GZIP_MAGIC):
                with gzip.open(file) as unpacked:
                    yield io.BufferedReader(unpacked, BUFFER_BYTES)
            elif magic == ZSTD_MAGIC:
                import zstandard  # imported here because few transcripts need it

                try:
                    with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as stream:
                        yield io.BufferedReader(stream, BUFFER_BYTES)
                except zstandard.ZstdError as error:
                    raise EOFError(str(error)) from error
            else:
                yield file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            cause = f"Its compressed data is damaged: {error}."
            raise Problem(f"{path.name} cannot be read to its end.", cause, "Copy the file again.") from error


def head_records(head: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects among the complete lines at the beginning of a file."""
    for line in head.splitlines(keepends=True):
        is_complete = line.endswith(b"\n") or line == head
        if is_complete and isinstance(value := parse_line(line.strip()).value, dict):
            yield value


def read_lines(
    path: Path, key: str, before: int = 0, start: int = 0, *, keep_blank: bool = False
) -> Iterator[TranscriptRecord]:
    """Yield a record for each line of a file. An incomplete last line is left out, as are blank lines by default.

    Reading starts at the byte `start`. `before` is added to the `bytes_read` of each record.
    """
    with open_transcript(path) as file:
        if start:
            file.seek(start)
        bytes_read = before + start
        for line in iter(lambda: file.readline(MAX_LINE_BYTES), b""):
            bytes_read += len(line)
            if line.isspace() and not keep_blank:
                continue
            raw, value = parse_line(line.rstrip(b"\r\n"))
            if value is None and not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
                return  # the program is still writing this line
            yield TranscriptRecord(key, raw, value, bytes_read)


def _too_large(path: Path) -> Problem:
    cause = f"Files of this format may have up to {MAX_DOCUMENT_BYTES >> 20} MB."
    return Problem(f"{path.name} is too large.", cause, "Split it.")


def read_document(path: Path) -> Any:
    """Read a file that is one JSON value. Raises Problem if it is too large or malformed."""
    if path.stat().st_size > MAX_DOCUMENT_BYTES:
        raise _too_large(path)
    with open_transcript(path) as file:
        body = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(body) > MAX_DOCUMENT_BYTES:
        raise _too_large(path)
    try:
        return json.loads(body)
    except RecursionError as error:
        raise Problem(f"{path.name} cannot be imported.", "Its JSON is nested too deeply.", "") from error
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        cause = f"Line {line}: expected JSON ({error})."
        raise Problem(f"{path.name} cannot be imported.", cause, "Nothing was imported.") from error


def read_json_object(path: Path) -> dict[str, Any]:
    """Return the object in a small JSON file with details of a session.

    Return an empty dictionary if the file is missing, too large, not a regular file, or does not contain an object.
    """
    try:
        if not path.is_file() or path.stat().st_size > MAX_DETAILS_BYTES:
            return {}
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class JsonLine(NamedTuple):
    """A line in valid UTF-8, and its JSON value, which is None if the line is not JSON."""

    raw: bytes
    value: Any


def parse_line(raw: bytes) -> JsonLine:
    """Parse a line of JSON. Invalid UTF-8 is replaced by U+FFFD."""
    try:
        return JsonLine(raw, _fast_json_parser()(raw))
    # Not JSON, or a lone surrogate, deep nesting or a very long number, which only `json.loads` accepts.
    except ValueError:
        text = raw.decode("utf-8", "replace")
    try:
        return JsonLine(text.encode(), json.loads(text))
    except (ValueError, RecursionError):
        return JsonLine(text.encode(), None)


@cache
def _fast_json_parser() -> Callable[[bytes], Any]:
    """Return a parser that gives the same result as `json.loads` in half the time, or raises ValueError.

    The import is delayed because opening the window does not need it.
    """
    from pydantic_core import from_json

    return partial(from_json, cache_strings="keys")


def to_json(value: Any) -> bytes:
    """Encode a value as JSON in UTF-8. A lone surrogate, which UTF-8 cannot represent, is written as its escape."""
    return to_utf8(json.dumps(value, ensure_ascii=False))


def list_records(
    key: str, values: Sequence[Any], *, file_bytes: int = 0, identities: Sequence[Any] | None = None
) -> Iterator[TranscriptRecord]:
    """Yield a record for each value in a document. `bytes_read` grows evenly up to `file_bytes`, to show progress.

    `identities` has for each value something that does not change when its program changes the value later.
    """
    encoded = repeat(b"", len(values)) if identities is None else map(to_json, identities)
    for number, (value, identity) in enumerate(zip(values, encoded, strict=True), 1):
        yield TranscriptRecord(key, to_json(value), value, file_bytes * number // len(values), identity)


def details_record(key: str, values: dict[str, Any], *, has_uncounted_usage: bool = False) -> TranscriptRecord:
    """Return the record with a session's details.

    Its identity is constant, because details change while a session grows.
    """
    details = SessionDetails(values, has_uncounted_usage)
    return TranscriptRecord(key, to_json(values), details, identity=to_json("details"))


def derive_key(path: Path, name: str = "") -> str:
    """Return a session key for a file without a session id. Files of the same name in two folders get two keys."""
    folder_hash = hashlib.blake2b(os.fsencode(path.resolve().parent), digest_size=4).hexdigest()
    return f"{name or plain_path(path).stem} {folder_hash}"


def parse_time(value: Any) -> int:
    """Parse a time: ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since 1970.

    Return microseconds since 1970, or 0 if the value is not a time.
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * SECOND)
        except (ValueError, OverflowError, OSError):
            return 0
    if isinstance(value, int | float) and not isinstance(value, bool):
        for microseconds in (value * 1_000_000, value * 1_000, value, value // 1_000):
            if MIN_TIME < microseconds < MAX_TIME:
                return int(microseconds)
    return 0


def parse_cost(value: Any) -> float | None:
    """Parse a cost in US dollars. Return None if the value is not a valid cost."""
    is_valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9
    return float(value) if is_valid else None


def parse_count(value: Any) -> int:
    """Parse a count, such as a number of tokens. Return 0 if the value is not a valid count."""
    is_valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return int(value) if is_valid else 0


def read_usage(
    values: Mapping[str, Any],
    *,
    input: str,
    output: str,
    cache_read: str = "",
    cache_write: str = "",
    reasoning: str = "",
    input_excludes_cache: bool = False,
) -> Usage:
    """Return the token counts in an object. The arguments are the names of its members; "" for a missing count.

    `input_excludes_cache`: the program does not count cached tokens as input, so they are added to it.
    """

    def count(name: str) -> int:
        return parse_count(values.get(name)) if name else 0

    cached = count(cache_read) + count(cache_write)
    return Usage(
        input=count(input) + (cached if input_excludes_cache else 0),
        output=count(output),
        cache_read=count(cache_read),
        cache_write=count(cache_write),
        reasoning=count(reasoning),
    )


def parse_exit_code(value: Any) -> int | None:
    """Return the exit code of a command. Return None if the value is not an exit code."""
    return value if isinstance(value, int) else None
