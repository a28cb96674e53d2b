"""Imports sessions of Cursor's command line, which are SQLite databases, and the transcripts of Cursor's editor."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from core.exchange.importers.followable import ReadNewRecords, UnseenRecords
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import (
    arguments_json,
    dict_or_empty,
    dicts,
    output_text,
    reasoning_text,
    text_of_parts,
)
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    details_record,
    head_records,
    parse_line,
    parse_time,
    plain_path,
    read_lines,
)
from core.exchange.importers.session_builder import SessionBuilder
from core.store.cursor_db import is_cursor_db, read_cursor_session
from core.store.foreign_db import MAGIC, is_sqlite

QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)  # Cursor wraps in this tag what the user typed
FOLDER = re.compile(r"^Workspace Path: (.+)$", re.MULTILINE)
EXIT_CODE = re.compile(r"^Exit code: (-?\d+)$", re.MULTILINE)


class CursorImporter:
    """Converts the messages of a session.

    Cursor stores no token counts; its editor's transcripts have no tool results.
    """

    agent = "Cursor"
    default_locations: tuple[str, ...] = (".cursor/chats/*/*/store.db",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        if head.startswith(MAGIC):
            return is_cursor_db(path)
        first = next(head_records(head), {})
        message = dict_or_empty(first.get("message"))
        return "role" in first and "type" not in first and "content" in message and "role" not in message

    def follow(self, path: Path) -> ReadNewRecords:
        return UnseenRecords(lambda: self.read_records(path))

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        return _database_records(path) if is_sqlite(path) else read_lines(path, plain_path(path).stem)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        message = record.value
        if isinstance(message, SessionDetails):
            _set_details(message.values, builder)
            return True
        if not isinstance(message, dict):
            return False
        is_wrapped = isinstance(message.get("message"), dict)  # in the transcripts of the editor
        content = (message["message"] if is_wrapped else message).get("content")
        match message.get("role"):
            case "user":
                return _add_user_message(content, builder)
            case "assistant":
                _add_reply(content, builder)
                return True
            case "tool":
                return _add_results(content, builder)
            case _:
                return False


def _database_records(path: Path) -> Iterator[TranscriptRecord]:
    """Yield the session's details, then the messages of the latest state, which includes those of earlier states."""
    session = read_cursor_session(path)
    key = str(session.details.get("agentId") or path.parent.name)
    yield details_record(key, {**session.details, "folder": session.folder})
    size = path.stat().st_size
    record_count = 1 + len(session.messages)
    for number, body in enumerate(session.messages, 1):
        raw, value = parse_line(body)
        yield TranscriptRecord(key, raw, value, bytes_read=size * number // record_count)


def _set_details(details: dict[str, Any], builder: SessionBuilder) -> None:
    builder.latest = max(builder.latest, parse_time(details.get("createdAt")))
    title = str(details.get("name") or "")
    builder.set_details(
        folder=unquote(urlsplit(details["folder"]).path),
        title="" if title == "New Agent" else title,
        model=str(details.get("lastUsedModel") or ""),
    )


def _add_user_message(content: Any, builder: SessionBuilder) -> bool:
    """Add what the user typed. Skip a message that Cursor itself adds, and take the folder of the session from it."""
    text = plain_text(content)
    if folder := FOLDER.search(text):
        builder.set_details(folder=folder.group(1).strip())
    inputs = QUERY.findall(text)
    if not inputs and text.lstrip().startswith(("<user_info>", "<system_reminder>")):
        return False
    if inputs or text:
        builder.add_user_message("\n".join(inputs) or text)
    return bool(inputs or text)


def _add_reply(content: Any, builder: SessionBuilder) -> None:
    parts = dicts(content)
    calls = [
        ForeignCall(
            str(part.get("toolCallId") or f"call {builder.record_count}.{number}"),
            str(part.get("toolName") or part.get("name") or "tool"),
            arguments_json(part.get("args", part.get("input"))),
        )
        for number, part in enumerate(parts)
        if part.get("type") in ("tool-call", "tool_use")
    ]
    options = (dict_or_empty(dict_or_empty(part.get("providerOptions")).get("cursor")) for part in parts)
    model = next((str(option["modelName"]) for option in options if option.get("modelName")), "")
    builder.add_reply(text_of_parts(content), reasoning=reasoning_text(content), calls=calls, model=model)
    builder.complete_reply()


def _add_results(content: Any, builder: SessionBuilder) -> bool:
    results = [part for part in dicts(content) if part.get("type") == "tool-result"]
    for part in results:
        result = part.get("result", part.get("output"))
        output = plain_text(result) or output_text(result)
        match = EXIT_CODE.match(output)
        exit_code = int(match.group(1)) if match else None
        failed = bool(exit_code) or part.get("isError") is True
        builder.add_result(str(part.get("toolCallId") or ""), output, failed=failed, exit_code=exit_code)
    return bool(results)
