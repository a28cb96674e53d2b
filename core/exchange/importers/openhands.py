"""Imports OpenHands conversations.

This module reads the files, in four formats:

- a folder with a file for each event (`_folder_records`);
- a file with one event per line (`_line_records`);
- a file with one list of events, written by version 0 (`_document_records`);
- `output.jsonl` of an evaluation, with one conversation per line (`_evaluation_records`).

The events are imported by `openhands_events` and, for those of version 0, by `openhands_events_0`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.exchange.importers.message_parts import dict_or_empty, first_text, list_or_empty
from core.exchange.importers.openhands_events import add_event
from core.exchange.importers.openhands_events_0 import add_event_0, is_from_user, user_message
from core.exchange.importers.record import (
    MAX_DOCUMENT_BYTES,
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    derive_key,
    details_record,
    head_records,
    list_records,
    parse_line,
    parse_time,
    plain_path,
    read_document,
    read_lines,
    read_usage,
    to_json,
)
from core.exchange.importers.session_builder import SessionBuilder

FOLDER_FILE = "base_state.json"  # the file that represents a conversation folder


class OpenHandsImporter:
    """Yields a record for each event of a conversation, and records with details of the conversation."""

    agent = "OpenHands"
    default_locations: tuple[str, ...] = (f".openhands/conversations/*/{FOLDER_FILE}",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        if path.name == FOLDER_FILE:
            return (path.parent / "events").is_dir()
        return _starts_with_event(head) or _starts_with_evaluation(head) or _starts_with_event_list(head)

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        if plain_path(path).suffix == ".jsonl":
            return _line_records(path)
        return _folder_records(path) if path.name == FOLDER_FILE else _document_records(path)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        event = record.value
        if isinstance(event, SessionDetails):
            _add_details(event.values, builder)
            return True
        if not isinstance(event, dict):
            return False
        add = add_event if "kind" in event else add_event_0
        return add(event, parse_time(event.get("timestamp")), builder)


def _starts_with_event(head: bytes) -> bool:
    """Return whether the first line of a file is an event of version 1."""
    first = next(head_records(head), {})
    return "source" in first and str(first.get("kind")).endswith("Event")


def _starts_with_evaluation(head: bytes) -> bool:
    """Return whether the first line of a file is a conversation of an evaluation."""
    if {"instance_id", "history"} <= next(head_records(head), {}).keys():
        return True
    # The line may be longer than the head, so that it cannot be parsed.
    return head.lstrip().startswith(b'{"') and b'"instance_id"' in head and b'"history"' in head


def _starts_with_event_list(head: bytes) -> bool:
    """Return whether a file is a list of events of version 0, each of which is an action or an observation."""
    is_list = head.lstrip().startswith(b"[")
    return is_list and b'"source"' in head and (b'"action"' in head or b'"observation"' in head)


def _folder_records(path: Path) -> Iterator[TranscriptRecord]:
    """Yield the details of a conversation, then its events, which are in a folder next to the details.

    `base_state.json` is `{"agent": {"llm": {"model": "m-2"}}, "workspace": {"working_dir": "/home/ada/work"}}`, and
    each `events/event-00001-….json` is an event.
    """
    key = path.parent.name
    bytes_read = 0
    yield details_record(key, dict_or_empty(read_document(path)))
    for file in sorted((path.parent / "events").glob("event-*.json")):
        if (size := file.stat().st_size) <= MAX_DOCUMENT_BYTES:
            bytes_read += size
            raw, value = parse_line(file.read_text("utf-8", "replace").encode())
            yield TranscriptRecord(key, raw, value, bytes_read)


def _document_records(path: Path) -> Iterator[TranscriptRecord]:
    """Yield the events of a file that is a list: `[{"id": 1, "source": "user", "action": "message", …}, …]`."""
    events = list_or_empty(read_document(path))
    yield from list_records(derive_key(path), events, file_bytes=path.stat().st_size)


def _line_records(path: Path) -> Iterator[TranscriptRecord]:
    """Yield the events of a file whose lines are events, or whole conversations of an evaluation."""
    for number, line in enumerate(read_lines(path, derive_key(path)), 1):
        if isinstance(line.value, dict) and "history" in line.value:
            key = derive_key(path, first_text(line.value, "instance_id") or f"conversation {number}")
            for record in _evaluation_records(key, line.value):
                yield record._replace(bytes_read=line.bytes_read)
        else:
            yield line


def _evaluation_records(key: str, conversation: dict[str, Any]) -> Iterator[TranscriptRecord]:
    """Yield the details of a conversation of an evaluation, its events, then how it ended.

    The conversation is `{"instance_id": "garden-1", "instruction": "List the files.", "history": [event, …],
    "metadata": {"llm_config": {"model": "tiny"}}, "metrics": {"accumulated_token_usage": {…}}, "error": null}`.
    """
    metadata = dict_or_empty(conversation.get("metadata"))
    yield details_record(key, {"agent": {"llm": metadata.get("llm_config") or metadata.get("llm")}})
    yield from list_records(key, _evaluation_events(conversation))
    end = {"metrics": dict_or_empty(conversation.get("metrics")), "error": first_text(conversation, "error")}
    yield TranscriptRecord(key, to_json(end), SessionDetails(end))


def _evaluation_events(conversation: dict[str, Any]) -> list[Any]:
    """Return the events of a conversation, with its task first if they have no message of the user."""
    events: list[Any] = []
    for entry in list_or_empty(conversation["history"]):
        # In early versions, an entry is a pair of an action and its observation.
        events += entry if isinstance(entry, list) else [entry]
    if any(is_from_user(event) for event in events):
        return events
    return [user_message(first_text(conversation, "instruction")), *events]


def _add_details(details: dict[str, Any], builder: SessionBuilder) -> None:
    """Add the details of a conversation: its model and folder, its token usage, and the error that ended it.

    A record has only some of them: an evaluation has the model before the events, and the usage and error after them.
    """
    model = dict_or_empty(dict_or_empty(details.get("agent")).get("llm"))
    workspace = dict_or_empty(details.get("workspace"))
    builder.set_details(model=first_text(model, "model"), folder=first_text(workspace, "working_dir"))
    metrics = dict_or_empty(details.get("metrics"))
    usage = read_usage(
        dict_or_empty(metrics.get("accumulated_token_usage")),
        input="prompt_tokens",
        output="completion_tokens",
        cache_read="cache_read_tokens",
        cache_write="cache_write_tokens",
    )
    builder.add_usage(usage)
    if error := first_text(details, "error"):
        builder.settle()
        builder.fail_run(error)
