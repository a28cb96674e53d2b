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

START = b"# aider chat started at "
INPUT, NOTICE = b"#### ", b"> "  # at the start of a line: what the user typed; what Aider itself reports
END = b"  "  # at the end of such a line; a heading or quotation in a reply does not end so
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
        return head.lstrip().startswith(START)

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        blocks = _Blocks(path)
        for record in read_lines(path, "", blank=True):
            yield from blocks.add(record)
        yield from blocks.close()

    def follow(self, path: Path) -> ReadNewRecords:
        blocks, lines = _Blocks(path), AppendedLines(lambda: [(path, "")], blank=True)

        def read_new() -> Iterator[TranscriptRecord]:
            for record in lines():
                yield from blocks.add(record)

        return read_new

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        text, mark = record.raw.decode(), record.value["mark"]
        if mark == START:
            builder.latest = max(builder.latest, _local_time(text.removeprefix(START.decode()).strip()))
            builder.set_details(folder=record.value["folder"])
        elif mark == INPUT:
            lines = (part.removeprefix(INPUT.decode()).removesuffix("  ") for part in text.splitlines())
            return _add_input("\n".join(lines), builder)
        elif mark == NOTICE:
            return _add_notice(text.removeprefix(NOTICE.decode()).strip(), builder)
        else:
            builder.state(_ReplyCount).replies += 1
            builder.add_reply(text.strip(), id=_reply(builder))
        return True


def _add_input(text: str, builder: SessionBuilder) -> bool:
    """Add a message of the user. Skip a command: the question in one such as `/ask` follows as a separate input."""
    if text.startswith("/"):
        return False
    builder.add_user_message(text)
    return True


class _Blocks:
    """Joins the lines of an input, and the lines of a reply, to one record each. Aider's reports are one line each.

    Whether lines with a mark end with END is decided by the first such line of a session: some versions do not write
    END, and editors remove it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key = derive_key(path)
        self._kind = b""
        self._ends: dict[bytes, bytes] = {}  # how lines with each mark end in this session
        self._lines: list[bytes] = []
        self._at = 0

    def add(self, record: TranscriptRecord) -> Iterator[TranscriptRecord]:
        """Add a line. Yield the records that are complete now."""
        line = record.raw
        mark = next((mark for mark in (START, INPUT, NOTICE) if line.startswith(mark)), b"")
        ends = self._ends.setdefault(mark, END if line.endswith(END) else b"")
        kind = mark if mark == START or line.endswith(ends) else b""
        if kind != self._kind:
            yield from self.close()
        self._kind, self._at = kind, record.bytes_read
        self._lines.append(line)
        if kind == START:
            self._key, self._ends = f"{derive_key(self._path)} {line.removeprefix(START).decode()}", {}
        if kind in (START, NOTICE):
            yield from self.close()

    def close(self) -> Iterator[TranscriptRecord]:
        lines, self._lines = self._lines, []
        if b"".join(lines).strip():
            value = {"mark": self._kind, "folder": str(self._path.absolute().parent)}
            yield TranscriptRecord(self._key, b"\n".join(lines), value, self._at)


def _add_notice(text: str, builder: SessionBuilder) -> bool:
    """Add Aider's report of its model, its token usage or an applied edit. Return false for any other report."""
    if match := MODEL.match(text):
        builder.set_details(model=match.group(1))
    elif match := TOKENS.match(text):
        sent, written, hit, received = (_count(number) for number in match.groups())
        cost = COST.search(text)
        builder.add_reply(
            usage=Usage(sent, received, hit, written), cost=float(cost.group(1)) if cost else None, id=_reply(builder)
        )
    elif match := EDIT.match(text):
        id = f"edit {builder.record_count}"
        call = ForeignCall(id, "edit", arguments_json({"path": match.group(1)}))
        builder.add_reply(calls=[call], id=_reply(builder))
        builder.add_result(id, text)
        builder.mark_final()
    else:
        return False
    return True


def _reply(builder: SessionBuilder) -> str:
    """Return the ID of the last reply. Usage and edits that Aider reports after its text belong to the same reply."""
    return f"reply {builder.state(_ReplyCount).replies}"


def _count(number: str | None) -> int:
    """Parse a rounded count such as `2.1k`."""
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
