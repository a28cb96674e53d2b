"""Imports the chat history that Aider writes to the folder it works in: a Markdown file with all of its sessions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from core.domain.events import Usage
from core.exchange.importers.followable import AppendedLines, ReadNewRecords
from core.exchange.importers.foreign_call import ForeignCall
from core.exchange.importers.message_parts import arguments_json
from core.exchange.importers.record import OpenSession, TranscriptRecord, derive_key, parse_time, read_lines
from core.exchange.importers.session_builder import SessionBuilder

SESSION_START = b"# aider chat started at "
INPUT_PREFIX = b"#### "  # of a line that the user typed
NOTICE_PREFIX = b"> "  # of a line that Aider itself reports
MARKED_LINE_SUFFIX = b"  "  # of both, but not of a heading or a quotation in a reply
HISTORY = ".aider.chat.history.md"
MODEL = re.compile(r"(?:Main model|Model): (\S+)")
TOKENS = re.compile(
    r"Tokens: (NUMBER) sent,(?: (NUMBER) cache write,)?(?: (NUMBER) cache hit,)? (NUMBER) received".replace(
        "NUMBER", r"[\d.,]+[kM]?"
    )
)
COST = re.compile(r"Cost: \$([\d.]+) message")
EDIT = re.compile(r"Applied edit to (.+)")
UNITS = {"k": 1_000, "M": 1_000_000}


@dataclass(slots=True)
class _ReplyCount:
    replies: int = 0


class AiderImporter:
    """Yields one record for each input of the user, each reply, and each line that Aider itself reports.

    Aider writes token counts only in rounded form.
    """

    agent = "Aider"
    default_locations: tuple[str, ...] = (HISTORY, f"*/{HISTORY}", f"*/*/{HISTORY}")

    def recognizes(self, path: Path, head: bytes) -> bool:
        return head.lstrip().startswith(SESSION_START)

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        grouper = _LineGrouper(path)
        for line in read_lines(path, "", keep_blank=True):
            yield from grouper.add(line)
        yield from grouper.flush()

    def follow(self, path: Path) -> ReadNewRecords:
        grouper = _LineGrouper(path)
        new_lines = AppendedLines(lambda: [(path, "")], keep_blank=True)

        def read_new() -> Iterator[TranscriptRecord]:
            for line in new_lines():
                yield from grouper.add(line)

        return read_new

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        text = record.raw.decode()
        prefix = record.value["prefix"]
        if prefix == INPUT_PREFIX:
            suffix = MARKED_LINE_SUFFIX.decode()
            lines = [line.removeprefix(prefix.decode()).removesuffix(suffix) for line in text.splitlines()]
            return _add_input("\n".join(lines), builder)
        if prefix == NOTICE_PREFIX:
            return _add_notice(text.removeprefix(prefix.decode()).strip(), builder)
        if prefix == SESSION_START:
            builder.latest = max(builder.latest, _local_time(text.removeprefix(prefix.decode()).strip()))
            builder.set_details(folder=record.value["folder"])
        else:
            builder.state(_ReplyCount).replies += 1
            builder.add_reply(text.strip(), reply_id=_reply_id(builder))
        return True


def _add_input(text: str, builder: SessionBuilder) -> bool:
    """Add a message of the user. Skip a command: the question in one such as `/ask` follows as a separate input."""
    if text.startswith("/"):
        return False
    builder.add_user_message(text)
    return True


class _LineGrouper:
    """Joins the lines of an input, and the lines of a reply, to one record each. Aider's reports are one line each.

    Some versions of Aider do not write the suffix of marked lines, and editors remove it. So the first line with each
    prefix in a session decides whether the others must have the suffix.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key = derive_key(path)
        self._prefix = b""  # of the lines being joined; empty for those of a reply
        self._suffixes: dict[bytes, bytes] = {}  # how lines with each prefix end in this session
        self._lines: list[bytes] = []
        self._bytes_read = 0

    def add(self, record: TranscriptRecord) -> Iterator[TranscriptRecord]:
        """Add a line. Yield the records that are complete now."""
        line = record.raw
        prefix = self._prefix_of(line)
        if prefix != self._prefix:
            yield from self.flush()
        self._prefix = prefix
        self._bytes_read = record.bytes_read
        self._lines.append(line)
        if prefix == SESSION_START:
            self._key = f"{derive_key(self._path)} {line.removeprefix(SESSION_START).decode()}"
            self._suffixes = {}
        if prefix in (SESSION_START, NOTICE_PREFIX):
            yield from self.flush()

    def flush(self) -> Iterator[TranscriptRecord]:
        """Yield the lines added so far as a record, unless they are blank."""
        lines, self._lines = self._lines, []
        if b"".join(lines).strip():
            value = {"prefix": self._prefix, "folder": str(self._path.absolute().parent)}
            yield TranscriptRecord(self._key, b"\n".join(lines), value, self._bytes_read)

    def _prefix_of(self, line: bytes) -> bytes:
        """Return the prefix that marks the line as an input, a notice or a start; empty for a line of a reply."""
        if line.startswith(SESSION_START):
            return SESSION_START
        prefix = next((prefix for prefix in (INPUT_PREFIX, NOTICE_PREFIX) if line.startswith(prefix)), b"")
        suffix = MARKED_LINE_SUFFIX if line.endswith(MARKED_LINE_SUFFIX) else b""
        return prefix if line.endswith(self._suffixes.setdefault(prefix, suffix)) else b""


def _add_notice(text: str, builder: SessionBuilder) -> bool:
    """Add Aider's report of its model, its token usage or an applied edit. Return false for any other report."""
    if match := MODEL.match(text):
        builder.set_details(model=match.group(1))
    elif match := TOKENS.match(text):
        sent, cache_write, cache_read, received = map(_parse_rounded_count, match.groups())
        cost = COST.search(text)
        builder.add_reply(
            reply_id=_reply_id(builder),
            usage=Usage(input=sent, output=received, cache_read=cache_read, cache_write=cache_write),
            cost=float(cost.group(1)) if cost else None,
        )
    elif match := EDIT.match(text):
        call = ForeignCall(f"edit {builder.record_count}", "edit", arguments_json({"path": match.group(1)}))
        builder.add_reply(reply_id=_reply_id(builder), calls=[call])
        builder.add_result(call.id, text)
        builder.mark_final()
    else:
        return False
    return True


def _reply_id(builder: SessionBuilder) -> str:
    """Return the ID of the last reply. Usage and edits that Aider reports after its text belong to the same reply."""
    return f"reply {builder.state(_ReplyCount).replies}"


def _parse_rounded_count(number: str | None) -> int:
    """Parse a rounded count such as `2.1k`; None is 0."""
    if not number:
        return 0
    digits = number.rstrip("kM").replace(",", "")
    return round(float(digits) * UNITS.get(number[-1], 1))


def _local_time(text: str) -> int:
    """Parse a date and time without a time zone as local time. Return microseconds, or 0 if it is invalid."""
    try:
        return parse_time(datetime.fromisoformat(text).astimezone().isoformat())
    except (ValueError, OSError, OverflowError):
        return 0
