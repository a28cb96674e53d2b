"""Imports Inspect logs, each a JSON document or a ZIP whose members may be compressed with zstd."""

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from core.domain.events import Usage
from core.domain.problems import Problem
from core.exchange.importers.foreign_call import plain_text
from core.exchange.importers.message_parts import chat_calls, dict_or_empty, dicts, embedded_images, reasoning_text
from core.exchange.importers.record import (
    MAX_DOCUMENT_BYTES,
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    details_record,
    list_records,
    parse_count,
    parse_time,
    read_document,
    to_json,
)
from core.exchange.importers.session_builder import SessionBuilder

ZSTD_METHOD = 93
LOCAL_HEADER_BYTES = 30  # size of the fixed part of a ZIP member's header
ATTACHMENT_PREFIX = "attachment://"
DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
)  # raised for a damaged ZIP or for invalid JSON in it


@dataclass(frozen=True, slots=True)
class _SampleEnd:
    """How a sample of an evaluation ended. It is the value of the sample's last record."""

    scores: dict[str, Any]
    error: dict[str, Any] | None
    grader_outputs: list[dict[str, Any]]


class InspectImporter:
    """Imports each sample of an evaluation as a session, with one record for each of its messages."""

    agent = "Inspect"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        if path.suffix == ".eval":
            return head.startswith(b"PK")
        return head.lstrip().startswith(b"{") and b'"eval"' in head and b'"version"' in head and b'"task"' in head

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        if path.suffix == ".eval":
            yield from _read_archive(path)
            return
        log = read_document(path)
        for number, sample in enumerate(dicts(log.get("samples")), 1):
            yield from _sample_records(sample, number, log.get("eval") or {}, path)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        value = record.value
        if isinstance(value, SessionDetails):
            _set_details(value.values, builder)
            return True
        if isinstance(value, _SampleEnd):
            _end_run(value, builder)
            return True
        return isinstance(value, dict) and _add_message(value, builder)


# From a log to records


def _sample_records(
    sample: dict[str, Any], number: int, header: dict[str, Any], path: Path
) -> Iterator[TranscriptRecord]:
    """Yield the details of the sample with this number in the log, then its messages, then how it ended."""
    sample_id = f"sample {number}" if sample.get("id") is None else sample["id"]
    key = f"{header.get('eval_id') or header.get('run_id') or path.stem}/{sample_id}/{sample.get('epoch', 1)}"
    details = {name: header.get(name) for name in ("task", "model", "created")}
    yield details_record(key, {**details, "id": sample_id})
    yield from list_records(key, _messages(sample), file_bytes=path.stat().st_size)
    end = _SampleEnd(
        scores=dict_or_empty(sample.get("scores")),
        error=sample["error"] if isinstance(sample.get("error"), dict) else None,
        grader_outputs=[
            {"usage": event["output"].get("usage"), "model": event["output"].get("model")}
            for event in dicts(sample.get("events"))
            if _is_model_event(event) and event.get("role") == "grader"
        ],
    )
    yield TranscriptRecord(key, to_json(asdict(end)), end)


def _messages(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a sample, with the attachments they refer to, and usage, model and times from events."""
    attachments = dict_or_empty(sample.get("attachments"))
    details = _details_from_events(dicts(sample.get("events")))
    messages = [
        {**_resolve_attachments(message, attachments), **details.get(_message_key(message), {})}
        for message in dicts(sample.get("messages"))
    ]
    _set_last_usage(messages, sample.get("output"))
    return messages


def _details_from_events(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the details to add to messages, by `_message_key`.

    A reply gets its token usage, model and time; a tool result gets its time.
    """
    details: dict[str, dict[str, Any]] = {}
    for event in events:
        at = event.get("completed") or event.get("timestamp")
        if _is_model_event(event):
            output = event["output"]
            for choice in dicts(output.get("choices")):
                if isinstance(message := choice.get("message"), dict):
                    reply_details = {"usage": output.get("usage"), "at": at, "model": output.get("model")}
                    details[_reply_key(message)] = reply_details
        elif event.get("event") == "tool" and event.get("id"):
            details[str(event["id"])] = {"at": at}
    return details


def _is_model_event(event: dict[str, Any]) -> bool:
    return event.get("event") == "model" and isinstance(event.get("output"), dict)


def _message_key(message: dict[str, Any]) -> str:
    """Return the ID of a reply, or the ID of the call of a tool result; "" for other messages."""
    return _reply_key(message) if message.get("role") == "assistant" else str(message.get("tool_call_id") or "")


def _reply_key(message: dict[str, Any]) -> str:
    """Return the ID of a reply. Old logs have no IDs, so for them the key is made from the text."""
    return str(message.get("id") or f"text: {plain_text(message.get('content'))}")


def _set_last_usage(messages: list[dict[str, Any]], output: Any) -> None:
    """Give the last reply the usage in the sample's output, if it has none: old logs contain no events."""
    last = next((message for message in reversed(messages) if message.get("role") == "assistant"), None)
    if last is not None and "usage" not in last and isinstance(output, dict):
        last["usage"] = output.get("usage")


def _resolve_attachments(value: Any, attachments: dict[str, Any]) -> Any:
    """Replace each reference to an attachment by its content, a long text or an image."""
    if isinstance(value, str) and value.startswith(ATTACHMENT_PREFIX):
        return attachments.get(value.removeprefix(ATTACHMENT_PREFIX), value)
    if isinstance(value, list):
        return [_resolve_attachments(item, attachments) for item in value]
    if isinstance(value, dict):
        return {name: _resolve_attachments(item, attachments) for name, item in value.items()}
    return value


# From records to events


def _set_details(details: dict[str, Any], builder: SessionBuilder) -> None:
    title = f"{details['task'] or 'sample'}: {details['id']}"
    builder.set_details(title=title, model=str(details["model"] or ""))
    builder.latest = max(builder.latest, parse_time(details["created"]))


def _add_message(message: dict[str, Any], builder: SessionBuilder) -> bool:
    at = parse_time(message.get("at"))
    content = message.get("content")
    match message.get("role"):
        case "user":
            builder.add_user_message(plain_text(content), at, embedded_images(content))
        case "assistant":
            builder.add_reply(
                _text_without_reasoning(content),
                at=at,
                reasoning=reasoning_text(content),
                calls=chat_calls(message.get("tool_calls")),
                usage=_parse_usage(message.get("usage")),
                model=str(message.get("model") or ""),
            )
        case "tool":
            error = message.get("error")
            texts = (plain_text(content), dict_or_empty(error).get("message"))
            output = "\n".join(filter(None, texts))
            builder.add_result(str(message.get("tool_call_id") or ""), output, at=at, failed=bool(error))
        case _:
            return False
    return True


def _text_without_reasoning(content: Any) -> str:
    if not isinstance(content, list):
        return plain_text(content)
    return plain_text([part for part in content if dict_or_empty(part).get("type") != "reasoning"])


def _end_run(end: _SampleEnd, builder: SessionBuilder) -> None:
    for output in end.grader_outputs:  # counts the grader's tokens; its messages are not part of the conversation
        builder.add_reply(usage=_parse_usage(output["usage"]), model=str(output["model"] or ""))
    if end.error is not None:
        builder.fail_run(str(end.error.get("message") or "an error"))
        return
    scores = [f"{name}: {score.get('value')}" for name, score in end.scores.items() if isinstance(score, dict)]
    builder.complete_run(", ".join(scores))


def _parse_usage(usage: Any) -> Usage:
    """Parse a usage object.

    Depending on the provider, the input count includes cached tokens or not. So the input is the total minus the
    output.
    """
    counts = dict_or_empty(usage)
    output = parse_count(counts.get("output_tokens"))
    total = parse_count(counts.get("total_tokens"))
    return Usage(
        input=total - output if total > output else parse_count(counts.get("input_tokens")),
        output=output,
        cache_read=parse_count(counts.get("input_tokens_cache_read")),
        cache_write=parse_count(counts.get("input_tokens_cache_write")),
        reasoning=parse_count(counts.get("reasoning_tokens")),
    )


# Reading an archive


def _read_archive(path: Path) -> Iterator[TranscriptRecord]:
    try:
        with zipfile.ZipFile(path) as log, path.open("rb") as file:
            members = {info.filename: info for info in log.infolist()}
            header_info = members.get("header.json") or members.get("_journal/start.json")
            header = dict_or_empty(json.loads(_read_member(log, file, header_info))) if header_info else {}
            names = [name for name in members if name.startswith("samples/") and name.endswith(".json")]
            for number, name in enumerate(names, 1):
                sample = json.loads(_read_member(log, file, members[name]))
                if isinstance(sample, dict):
                    yield from _sample_records(sample, number, header.get("eval") or {}, path)
    except RecursionError as error:
        raise Problem(f"{path.name} cannot be imported.", "Its JSON is nested too deeply.", "") from error
    except DAMAGE_ERRORS as error:
        raise Problem(
            f"{path.name} cannot be imported.", f"Its ZIP archive is damaged: {error}.", "Copy the file again."
        ) from error


def _read_member(log: zipfile.ZipFile, file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """Return the contents of a ZIP member. Raise Problem if it is larger than `MAX_DOCUMENT_BYTES`."""
    if info.file_size > MAX_DOCUMENT_BYTES:
        raise Problem(f"{info.filename} is too large.", f"A sample may have up to {MAX_DOCUMENT_BYTES >> 20} MB.", "")
    if info.compress_type != ZSTD_METHOD:
        with log.open(info) as member:
            return member.read(MAX_DOCUMENT_BYTES)
    file.seek(info.header_offset)
    name_length, extra_length = struct.unpack("<HH", file.read(LOCAL_HEADER_BYTES)[26:30])
    file.seek(info.header_offset + LOCAL_HEADER_BYTES + name_length + extra_length)
    return _decompress(file.read(info.compress_size))


def _decompress(body: bytes) -> bytes:
    import zstandard  # imported here because few logs need it

    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as stream:
            return bytes(stream.read(MAX_DOCUMENT_BYTES))
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
