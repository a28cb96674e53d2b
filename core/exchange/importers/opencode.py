"""Imports OpenCode sessions from its database, or from a JSON file that OpenCode exported."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.domain.text import to_utf8
from core.exchange.importers.followable import ReadNewRecords, UnseenRecords
from core.exchange.importers.foreign_call import ForeignCall
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts, list_or_empty, output_text
from core.exchange.importers.record import (
    OpenSession,
    TranscriptRecord,
    parse_cost,
    parse_count,
    parse_exit_code,
    parse_time,
    read_document,
    to_json,
)
from core.exchange.importers.session_builder import SessionBuilder
from core.store.foreign_db import MAGIC, is_sqlite
from core.store.opencode_db import is_opencode_db, read_opencode_sessions

# How recently a followed session was updated. An older unfinished reply is taken to be interrupted.
RECENT_MS = 3_600_000


class OpenCodeImporter:
    """Yields one record for each message with its parts.

    When following a database, a message is yielded once it is finished. An import on demand also yields unfinished
    messages: they look the same whether OpenCode was stopped or is still writing.
    """

    agent = "OpenCode"
    default_locations: tuple[str, ...] = (".local/share/opencode/opencode.db",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        if head.startswith(MAGIC):
            return is_opencode_db(path)
        return head.lstrip().startswith(b"{") and b'"projectID"' in head and b'"info"' in head

    def follow(self, path: Path) -> ReadNewRecords:
        since = int(time.time() * 1000) - RECENT_MS
        return UnseenRecords(lambda: _finished(_records(read_opencode_sessions(path, since))))

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        return _records(read_opencode_sessions(path) if is_sqlite(path) else _export_rows(path))

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        entry = record.value
        info = entry.get("info") if isinstance(entry, dict) else None
        if not isinstance(info, dict):
            return False
        if "parts" not in entry:
            _set_details(info, builder, open_session)
            return True
        parts = dicts(entry["parts"])
        at = _parse_time(info, "created")
        match info.get("role"):
            case "user":
                return _add_user_message(parts, at, builder)
            case "assistant":
                _add_replies(info, parts, at, builder)
                return True
            case _:
                return False


def _export_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the details and messages of an export in the form in which `read_opencode_sessions` yields a database."""
    document = read_document(path)
    session = str(document["info"].get("id") or path.stem)
    yield {"info": document["info"], "session": session}
    for message in list_or_empty(document.get("messages")):
        yield {"message": message, "session": session}


def _records(rows: Iterator[dict[str, Any]]) -> Iterator[TranscriptRecord]:
    """Yield a record for each row, which has the details of a session or one message."""
    for row in rows:
        value = row.get("message") or row
        # The ID alone identifies the record, because OpenCode may change the message later.
        identity = to_utf8(str((value.get("info") or {}).get("id")))
        yield TranscriptRecord(row["session"], to_json(value), value, identity=identity)


def _finished(records: Iterator[TranscriptRecord]) -> Iterator[TranscriptRecord]:
    """Yield the records up to the reply that OpenCode may still be writing, for each session.

    OpenCode writes one reply of a session at a time. So an unfinished reply that is followed by another was
    interrupted. Messages that the user sends during a reply wait for its end, to keep the order.
    """
    held_back: dict[str, list[TranscriptRecord]] = {}
    recent_since = time.time() * 1000 - RECENT_MS
    for record in records:
        info = record.value.get("info") or {}
        if info.get("role") == "assistant":
            yield from held_back.pop(record.key, ())
            created_at = (info.get("time") or {}).get("created") or 0
            if _is_unfinished(info) and created_at >= recent_since:
                held_back[record.key] = []
        if record.key in held_back:
            held_back[record.key].append(record)
        else:
            yield record


def _is_unfinished(info: dict[str, Any]) -> bool:
    return not (info.get("time") or {}).get("completed") and not info.get("error")


def _parse_time(entry: dict[str, Any], name: str) -> int:
    """Return the time of this name that a message, a part of it or the state of a tool call has; 0 if it has none."""
    return parse_time((entry.get("time") or {}).get(name))


def _set_details(info: dict[str, Any], builder: SessionBuilder, open_session: OpenSession) -> None:
    builder.set_details(folder=str(info.get("directory") or ""), title=str(info.get("title") or ""))
    created_at = parse_time(info["time_created"]) if info.get("time_created") else _parse_time(info, "created")
    builder.latest = max(builder.latest, created_at)
    if parent := info.get("parentID"):
        builder.set_parent(str(parent), open_session(str(parent)).subagent_call(builder.key))


def _add_user_message(parts: list[dict[str, Any]], at: int, builder: SessionBuilder) -> bool:
    """Add what the user typed, without the text that OpenCode itself adds."""
    text = "\n".join(str(part["text"]) for part in parts if part.get("type") == "text" and not part.get("synthetic"))
    if text:
        builder.add_user_message(text, at)
    return bool(text)


def _add_replies(info: dict[str, Any], parts: list[dict[str, Any]], at: int, builder: SessionBuilder) -> None:
    """Add the replies in a message of the assistant. Each reply in it ends with a part of type `step-finish`."""
    model = "/".join(filter(None, (str(info.get("providerID") or ""), str(info.get("modelID") or ""))))
    pending: list[dict[str, Any]] = []
    for part in parts:
        pending.append(part)
        if part.get("type") == "step-finish":
            _add_reply(pending, part, model, at, builder)
            pending = []
    if any(part.get("type") in ("text", "reasoning", "tool") for part in pending):
        _add_reply(pending, info, model, at, builder)
    if isinstance(error := info.get("error"), dict):
        builder.fail_run(str(dict_or_empty(error.get("data")).get("message") or error.get("name") or "an error"))
    elif _is_unfinished(info):
        builder.stop_run("the reply was interrupted")


def _add_reply(
    parts: list[dict[str, Any]], counts: dict[str, Any], model: str, at: int, builder: SessionBuilder
) -> None:
    """Add one reply with its tool calls and their results. `counts` has its token usage and cost."""
    calls = [part for part in parts if part.get("type") == "tool" and isinstance(part.get("state"), dict)]
    first_call_at = _parse_time(calls[0]["state"], "start") if calls else 0
    text_ends = [_parse_time(part, "end") for part in parts if isinstance(part.get("time"), dict)]
    builder.add_reply(
        _join_texts(parts, "text"),
        requested_at=max(at, builder.latest),
        at=max([at, first_call_at, *text_ends]),
        reasoning=_join_texts(parts, "reasoning"),
        calls=[_parse_call(part) for part in calls],
        usage=_parse_usage(dict_or_empty(counts.get("tokens"))),
        model=model,
        cost=parse_cost(counts.get("cost")) or None,
    )
    for part in calls:
        _add_result(part, builder)


def _join_texts(parts: list[dict[str, Any]], kind: str) -> str:
    return "\n".join(str(part["text"]) for part in parts if part.get("type") == kind and part.get("text"))


def _parse_call(part: dict[str, Any]) -> ForeignCall:
    arguments = arguments_json(part["state"].get("input"))
    return ForeignCall(str(part.get("callID") or ""), str(part.get("tool") or "tool"), arguments)


def _parse_usage(tokens: dict[str, Any]) -> Usage:
    """Parse the token usage. OpenCode counts cached input and reasoning separately, so they are added."""
    cache = dict_or_empty(tokens.get("cache"))
    cache_read = parse_count(cache.get("read"))
    cache_write = parse_count(cache.get("write"))
    reasoning = parse_count(tokens.get("reasoning"))
    return Usage(
        input=parse_count(tokens.get("input")) + cache_read + cache_write,
        output=parse_count(tokens.get("output")) + reasoning,
        cache_read=cache_read,
        cache_write=cache_write,
        reasoning=reasoning,
    )


def _add_result(part: dict[str, Any], builder: SessionBuilder) -> None:
    """Add the result of a tool call, and before it the sub-agent that the call started. Skip an unfinished call."""
    state = part["state"]
    status = state.get("status")
    if status not in ("completed", "error"):
        return
    call_id = str(part.get("callID") or "")
    metadata = dict_or_empty(state.get("metadata"))
    if child := metadata.get("sessionId") or metadata.get("sessionID"):
        arguments = state.get("input") or {}
        subagent = str(arguments.get("subagent_type") or "agent")
        builder.start_subagent(call_id, str(child), subagent, str(arguments.get("prompt") or ""))
        builder.end_subagent(call_id, str(child), str(status))
    exit_code = parse_exit_code(metadata.get("exit"))
    builder.add_result(
        call_id,
        output_text(state.get("output" if status == "completed" else "error")),
        at=_parse_time(state, "end"),
        failed=status == "error" or bool(exit_code),
        exit_code=exit_code,
    )
