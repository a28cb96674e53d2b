"""Imports Amp threads: one JSON document each, with messages like those of the Messages API."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from core.domain.events import Usage
from core.exchange.importers.followable import ReadNewRecords, UnseenRecords
from core.exchange.importers.foreign_call import plain_text
from core.exchange.importers.message_parts import (
    dict_or_empty,
    dicts,
    embedded_images,
    output_text,
    reasoning_text,
    text_of_parts,
    tool_use_calls,
)
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    details_record,
    list_records,
    parse_exit_code,
    parse_time,
    plain_path,
    read_document,
    read_usage,
)
from core.exchange.importers.session_builder import SessionBuilder

FAILED_STATES = frozenset({"error", "cancelled", "rejected-by-user"})
FINAL_STATES = FAILED_STATES | {"done"}  # in which a tool call has ended


class AmpImporter:
    """Yields one record for each message. Amp rewrites the whole document while a message grows."""

    agent = "Amp"
    default_locations: tuple[str, ...] = (".local/share/amp/threads/T-*.json",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        is_thread = b'"id":"T-' in head.replace(b" ", b"") and b'"messages"' in head
        return is_thread and head.lstrip().startswith(b"{")

    def follow(self, path: Path) -> ReadNewRecords:
        return UnseenRecords(lambda: self._records(path, growing=True))

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        return self._records(path, growing=False)

    def _records(self, path: Path, *, growing: bool) -> Iterator[TranscriptRecord]:
        """Yield the details of a thread, then its messages.

        Of a growing thread, stop before the first incomplete message.
        """
        document = dict_or_empty(read_document(path))
        messages = dicts(document.pop("messages", None))
        if growing:
            incomplete = (number for number, message in enumerate(messages) if not _is_complete(message))
            messages = messages[: next(incomplete, len(messages))]
        key = str(document.get("id") or plain_path(path).stem)
        identities = [[message.get("role"), message.get("messageId")] for message in messages]
        yield details_record(key, document)
        yield from list_records(key, messages, file_bytes=path.stat().st_size, identities=identities)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        message = record.value
        if isinstance(message, SessionDetails):
            _set_details(message.values, builder)
            return True
        at = parse_time(dict_or_empty(message.get("meta")).get("sentAt"))
        match message.get("role"):
            case "user":
                return _add_user_message(message, at, builder)
            case "assistant":
                _add_reply(message, builder)
                return True
            case "info":
                return _add_summary(message, at, builder)
            case _:
                return False


def _is_complete(message: dict[str, Any]) -> bool:
    """Return whether a message will not change anymore: it is fully written, and the calls it reports on have ended."""
    if dict_or_empty(message.get("state")).get("type") in ("streaming", "running"):
        return False
    return all(dict_or_empty(result.get("run")).get("status") in FINAL_STATES for result in _results(message))


def _results(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in dicts(message.get("content")) if part.get("type") == "tool_result"]


def _set_details(details: dict[str, Any], builder: SessionBuilder) -> None:
    builder.latest = max(builder.latest, parse_time(details.get("created")))
    trees = dict_or_empty(dict_or_empty(details.get("env")).get("initial")).get("trees")
    first_tree = next(iter(dicts(trees)), {})
    address = str(first_tree.get("uri") or "")
    folder = unquote(urlsplit(address).path) if address.startswith("file:") else ""
    builder.set_details(folder=folder, title=str(details.get("title") or ""))


def _add_user_message(message: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    results = _results(message)
    for part in results:
        _add_result(part, at, builder)
    content = message.get("content")
    text = text_of_parts(content)
    files = embedded_images(content)
    if text or files:
        builder.add_user_message(text, at, files)
    return bool(text or files or results)


def _add_result(part: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    """Add a tool result. That of a command is an object with output and exit code; other results may be any value."""
    run = dict_or_empty(part.get("run"))
    value = run.get("result", run.get("error", run.get("reason", run.get("progress"))))
    fields = dict_or_empty(value)
    exit_code = parse_exit_code(fields.get("exitCode"))
    output = fields.get("output", fields.get("message"))
    if not isinstance(output, str):
        output = plain_text(value) or (output_text(value) if value else str(run.get("status") or ""))
    builder.add_result(
        str(part.get("toolUseID") or part.get("tool_use_id") or ""),
        output,
        at=at,
        failed=run.get("status") in FAILED_STATES or bool(exit_code),
        exit_code=exit_code,
        files=embedded_images(value),
    )


def _add_reply(message: dict[str, Any], builder: SessionBuilder) -> None:
    content = message.get("content")
    usage = dict_or_empty(message.get("usage"))
    builder.add_reply(
        text_of_parts(content),
        at=parse_time(usage.get("timestamp")),
        reasoning=reasoning_text(content),
        calls=tool_use_calls(content),
        usage=_parse_usage(usage),
        model=str(usage.get("model") or ""),
    )
    builder.complete_reply()
    if dict_or_empty(message.get("state")).get("type") == "cancelled":
        builder.stop_run("canceled by the user")


def _parse_usage(usage: dict[str, Any]) -> Usage:
    return read_usage(
        usage,
        input="inputTokens",
        output="outputTokens",
        cache_read="cacheReadInputTokens",
        cache_write="cacheCreationInputTokens",
        input_excludes_cache=True,
    )


def _add_summary(message: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    """Add the summary that replaces the earlier conversation in the model's context."""
    for part in dicts(message.get("content")):
        summary = dict_or_empty(part.get("summary"))
        if text := summary.get("summary"):
            builder.add_compaction("compacted by Amp", str(text), at=at)
            return True
    return False
