"""Imports Goose sessions from its database, from its JSON export, or from the JSON Lines files of older versions."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import ReadNewRecords, UnseenRecords
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts, mcp_images
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    derive_key,
    details_record,
    list_records,
    parse_cost,
    parse_count,
    parse_time,
    plain_path,
    read_document,
    read_lines,
)
from core.exchange.importers.session_builder import SessionBuilder
from core.store.foreign_db import MAGIC, is_sqlite
from core.store.goose_db import is_goose_db, read_goose_sessions

RECENT_S = 3_600  # while following, only sessions updated within this time are read
WITHOUT_CONTENT = frozenset({"toolConfirmationRequest", "actionRequired", "redactedThinking", "systemNotification"})


class GooseImporter:
    """Yields one record for each message. A reply's record also has the token counts of the model requests for it."""

    agent = "Goose"
    default_locations: tuple[str, ...] = (
        ".local/share/goose/sessions/sessions.db",
        "Library/Application Support/Block/goose/sessions/sessions.db",
        "AppData/Roaming/Block/goose/data/sessions/sessions.db",
    )

    def recognizes(self, path: Path, head: bytes) -> bool:
        if head.startswith(MAGIC):
            return is_goose_db(path)
        if not head.lstrip().startswith(b"{") or b'"working_dir"' not in head:
            return False
        return b'"extension_data"' in head or b'"message_count"' in head

    def follow(self, path: Path) -> ReadNewRecords:
        since = datetime.fromtimestamp(time.time() - RECENT_S, UTC).strftime("%Y-%m-%d %H:%M:%S")
        return UnseenRecords(lambda: _database_records(path, since, growing=True))

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        if is_sqlite(path):
            return _database_records(path, "", growing=False)
        if plain_path(path).suffix == ".jsonl":
            return read_lines(path, plain_path(path).stem)
        return _export_records(path)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        value = record.value
        if isinstance(value, SessionDetails):
            _set_details(value.values, builder)
            if value.has_uncounted_usage:
                builder.add_usage(_total_usage(value.values))
            return True
        if not isinstance(value, dict):
            return False
        if "role" not in value:  # the first line of a JSON Lines file has the session's details
            _set_details(value, builder)
            return "working_dir" in value
        return _add_message(value, builder)


def _database_records(path: Path, since: str, *, growing: bool) -> Iterator[TranscriptRecord]:
    for session in read_goose_sessions(path, since):
        messages, requests = session.pop("messages"), session.pop("requests")
        for message in messages:
            message["content"] = json.loads(message.pop("content_json"))
            message["created"] = message.pop("created_timestamp")
            message["metadata"] = json.loads(message.pop("metadata_json", None) or "null")
        yield from _records(session["id"], session, messages, requests, growing=growing)


def _export_records(path: Path) -> Iterator[TranscriptRecord]:
    document = dict_or_empty(read_document(path))
    messages = dicts(document.pop("conversation", None))
    yield from _records(str(document.get("id") or derive_key(path)), document, messages, [], growing=False)


def _records(
    key: str, details: dict[str, Any], messages: list[dict[str, Any]], requests: list[dict[str, Any]], *, growing: bool
) -> Iterator[TranscriptRecord]:
    """Yield the details of a session, then its messages.

    In a growing session, the last reply is left out until its token count is stored. Old versions of Goose count no
    single requests; the total of the session is then added at the first import.
    """
    counted = _requests_by_reply(messages, requests)
    ends_with_reply = bool(messages) and messages[-1].get("role") == "assistant"
    is_last_counted = len(messages) - 1 in counted
    if growing and requests and ends_with_reply and not is_last_counted:
        messages = messages[:-1]
    yield details_record(key, details, has_uncounted_usage=not requests and not growing)
    values = [{**message, "requests": counted.get(number, [])} for number, message in enumerate(messages)]
    identities = [[message.get("role"), message.get("created"), number] for number, message in enumerate(messages)]
    yield from list_records(key, values, identities=identities)


def _requests_by_reply(
    messages: list[dict[str, Any]], requests: list[dict[str, Any]]
) -> dict[int, list[dict[str, Any]]]:
    """Assign each request to the last reply before its token count was stored, or else to the first reply.

    Return the requests by the position of the reply in `messages`.
    """
    replies = [number for number, message in enumerate(messages) if message.get("role") == "assistant"]
    by_reply: dict[int, list[dict[str, Any]]] = {}
    for request in requests if replies else ():
        stored_at = parse_time(request["created_timestamp"])
        earlier = [number for number in replies if parse_time(messages[number].get("created")) <= stored_at]
        by_reply.setdefault(earlier[-1] if earlier else replies[0], []).append(request)
    return by_reply


def _set_details(details: dict[str, Any], builder: SessionBuilder) -> None:
    stored_config = details.get("model_config_json")
    config = json.loads(stored_config) if isinstance(stored_config, str) else details.get("model_config")
    builder.latest = max(builder.latest, parse_time(details.get("created_at")))
    builder.set_details(
        folder=str(details.get("working_dir") or ""),
        title=str(details.get("name") or details.get("description") or ""),
        model=str(dict_or_empty(config).get("model_name") or ""),
    )
    if parent := details.get("parent_session_id"):
        builder.set_parent(str(parent))


def _add_message(message: dict[str, Any], builder: SessionBuilder) -> bool:
    parts = dicts(message.get("content"))
    at = parse_time(message.get("created"))
    responses = [part for part in parts if part.get("type") == "toolResponse"]
    for part in responses:
        _add_result(part, at, builder)
    text = "\n".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")
    if dict_or_empty(message.get("metadata")).get("userVisible") is False and text:
        builder.add_compaction("compacted by Goose", text, at=at)
        return True
    match message.get("role"):
        case "user":
            files = mcp_images(parts)
            if text or files:
                builder.add_user_message(text, at, files)
            return bool(text or files or responses)
        case "assistant":
            return _add_reply(text, parts, dicts(message.get("requests")), at, builder) or bool(responses)
        case _:
            return False


def _add_reply(
    text: str, parts: list[dict[str, Any]], requests: list[dict[str, Any]], at: int, builder: SessionBuilder
) -> bool:
    """Add a reply with the token usage and cost of the requests for it. Return whether its parts were understood."""
    calls = [_parse_call(part) for part in parts if part.get("type") in ("toolRequest", "frontendToolRequest")]
    thoughts = [part for part in parts if part.get("type") in ("thinking", "reasoning")]
    reasoning = "\n".join(str(part.get("thinking") or part.get("text") or "") for part in thoughts)
    builder.add_reply(
        text,
        at=at,
        reasoning=reasoning,
        calls=calls,
        usage=_usage(requests),
        cost=_cost(requests),
        model=str(requests[-1].get("model") or "") if requests else "",
    )
    builder.complete_reply()
    has_content = bool(text or reasoning or calls)
    return has_content or all(part.get("type") in WITHOUT_CONTENT for part in parts)


def _parse_call(part: dict[str, Any]) -> ForeignCall:
    """Return a tool call. If Goose could not parse the call, its only argument is the error."""
    call = dict_or_empty(part.get("toolCall"))
    value = dict_or_empty(call.get("value"))
    arguments = value.get("arguments") if value else {"error": call.get("error")}
    return ForeignCall(str(part.get("id") or ""), str(value.get("name") or "tool"), arguments_json(arguments))


def _add_result(part: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    """Add a tool result.

    In old versions, `value` is the list of content parts instead of an object that contains it.
    """
    result = dict_or_empty(part.get("toolResult"))
    value = result.get("value")
    content = value.get("content") if isinstance(value, dict) else value
    items = [item for item in dicts(content) if _is_for_model(item)]
    texts = [item.get("text") or plain_text(item.get("resource")) for item in items]
    output = "\n".join(str(text) for text in texts if text) or str(result.get("error") or "")
    failed = result.get("status") == "error" or (isinstance(value, dict) and value.get("isError") is True)
    builder.add_result(str(part.get("id") or ""), output, at=at, failed=failed, files=mcp_images(items))


def _is_for_model(item: dict[str, Any]) -> bool:
    """Return whether the model reads a part. Parts for the user alone repeat what the model reads."""
    return "assistant" in (dict_or_empty(item.get("annotations")).get("audience") or ["assistant"])


def _usage(requests: list[dict[str, Any]]) -> Usage | None:
    """Return the token usage of the requests for a reply; None if Goose did not count them."""
    if not requests:
        return None

    def total(name: str) -> int:
        return sum(parse_count(request.get(name)) for request in requests)

    return Usage(
        input=total("input_tokens"),
        output=total("output_tokens"),
        cache_read=total("cache_read_tokens"),
        cache_write=total("cache_write_tokens"),
    )


def _cost(requests: list[dict[str, Any]]) -> float | None:
    """Return the cost of requests; None if it is unknown of all of them."""
    costs = [cost for request in requests if (cost := parse_cost(request.get("cost"))) is not None]
    return sum(costs) if costs else None


def _total_usage(details: dict[str, Any]) -> Usage:
    """Return the token usage of a whole session, as stored in the database or in an export."""
    exported = dict_or_empty(details.get("accumulated_usage"))

    def total(name: str, exported_name: str) -> int:
        return parse_count(details.get(name) or exported.get(exported_name))

    return Usage(
        input=total("accumulated_input_tokens", "input_tokens"),
        output=total("accumulated_output_tokens", "output_tokens"),
        cache_read=total("accumulated_cache_read_tokens", "cache_read_input_tokens"),
        cache_write=total("accumulated_cache_write_tokens", "cache_write_input_tokens"),
    )
