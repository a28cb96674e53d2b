"""Imports Inspect logs: a JSON document, or a ZIP whose members may be compressed with zstd."""

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.domain.problems import Problem
from core.exchange.importers.foreign_call import plain_text
from core.exchange.importers.message_parts import chat_calls, dict_or_empty, images, reasoning_text
from core.exchange.importers.record import (
    MAX_DOCUMENT_BYTES,
    OpenSession,
    TranscriptRecord,
    list_records,
    parse_count,
    parse_time,
    read_document,
)
from core.exchange.importers.session_builder import SessionBuilder

ZSTD_METHOD = 93
LOCAL_HEADER_BYTES = 30  # bytes of the local file header of a member
ATTACHMENT_PREFIX = "attachment://"
DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
)  # a damaged ZIP, or JSON in it


class InspectImporter:
    """Imports each sample as a session and each of its messages as a record."""

    agent = "Inspect"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        if path.suffix == ".eval":
            return head.startswith(b"PK")
        return head.lstrip().startswith(b"{") and b'"eval"' in head and b'"version"' in head and b'"task"' in head

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        if path.suffix == ".eval":
            yield from _zipped(path)
            return
        log = read_document(path)
        for sample in log.get("samples") or ():
            yield from _sample(sample, log.get("eval") or {}, path)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        message = record.value
        if not isinstance(message, dict):
            return False
        if "sample" in message:
            _set_details(message["sample"], builder)
            return True
        if "ended" in message:
            _end(message["ended"], builder)
            return True
        at = parse_time(message.get("at"))
        content = message.get("content")
        match message.get("role"):
            case "user":
                builder.add_user_message(plain_text(content), at, images(content if isinstance(content, list) else []))
            case "assistant":
                builder.add_reply(
                    plain_text([p for p in content if not _is_thought(p)] if isinstance(content, list) else content),
                    at=at, reasoning=reasoning_text(content), calls=chat_calls(message.get("tool_calls")),
                    usage=_usage(message.get("usage")), model=str(message.get("model") or ""),
                )  # fmt: skip
            case "tool":
                error = message.get("error")
                text = error.get("message") if isinstance(error, dict) else ""
                output = "\n".join(filter(None, (plain_text(content), text)))
                builder.add_result(str(message.get("tool_call_id")), output, at=at, failed=bool(error))
            case _:
                return False
        return True


def _is_thought(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "reasoning"


def _set_details(sample: dict[str, Any], builder: SessionBuilder) -> None:
    model = str(sample.get("model") or "")
    builder.set_details(title=f"{sample.get('task') or 'sample'}: {sample.get('id')}", model=model)
    builder.latest = max(builder.latest, parse_time(sample.get("created")))


def _end(ended: dict[str, Any], builder: SessionBuilder) -> None:
    scores = ended.get("scores")
    message = ", ".join(f"{name}: {score.get('value')}" for name, score in scores.items()
                     if isinstance(score, dict)) if isinstance(scores, dict) else ""  # fmt: skip
    for output in ended.get("graded") or ():  # the grader's messages are not part of the conversation
        builder.add_reply(usage=_usage(output.get("usage")), model=str(output.get("model") or ""))
    error = ended.get("error")
    if isinstance(error, dict):
        builder.fail_run(str(error.get("message") or "an error"))
    else:
        builder.complete_run(message)


def _sample(sample: Any, header: dict[str, Any], path: Path) -> Iterator[TranscriptRecord]:
    """Yield the head of a sample, its messages with usage and times from its events, and how it ended."""
    if not isinstance(sample, dict):
        return
    key = f"{header.get('eval_id') or header.get('run_id') or path.stem}/{sample.get('id')}/{sample.get('epoch', 1)}"
    attached = dict_or_empty(sample.get("attachments"))
    details_by_key = _message_details(sample.get("events"))
    head = {
        "task": header.get("task"),
        "id": sample.get("id"),
        "model": header.get("model"),
        "created": header.get("created"),
    }
    yield from list_records(key, [{"sample": head}])
    messages: list[dict[str, Any]] = []
    for message in sample.get("messages") or ():
        if isinstance(message, dict):
            detail_key = _name(message) if message.get("role") == "assistant" else str(message.get("tool_call_id"))
            details = details_by_key.get(detail_key, {})
            messages.append({**_resolve_attachments(message, attached or {}), **details})
    _count_last(messages, sample.get("output"))
    yield from list_records(key, messages, path.stat().st_size)
    graded = [event["output"] for event in _model_events(sample) if event.get("role") == "grader"]
    outputs = [{"usage": output.get("usage"), "model": output.get("model")} for output in graded]
    ended = {"scores": sample.get("scores"), "error": sample.get("error"), "graded": outputs}
    yield from list_records(key, [{"ended": ended}])


def _model_events(sample: dict[str, Any]) -> list[dict[str, Any]]:
    events = sample.get("events")
    return [
        event
        for event in (events if isinstance(events, list) else ())
        if isinstance(event, dict) and event.get("event") == "model" and isinstance(event.get("output"), dict)
    ]


def _count_last(messages: list[dict[str, Any]], output: Any) -> None:
    """Set the usage of the last reply from the output of the sample: older logs contain no events."""
    last = next((message for message in reversed(messages) if message.get("role") == "assistant"), None)
    if last is not None and "usage" not in last and isinstance(output, dict):
        last["usage"] = output.get("usage")


def _message_details(events: Any) -> dict[str, dict[str, Any]]:
    """Return usage and time of each reply by the key of its message, and the time of each result by its call id."""
    details_by_key: dict[str, dict[str, Any]] = {}
    for event in events if isinstance(events, list) else ():
        if not isinstance(event, dict):
            continue
        output, at = event.get("output"), event.get("completed") or event.get("timestamp")
        if event.get("event") == "model" and isinstance(output, dict):
            for choice in output.get("choices") or ():
                if isinstance(choice, dict) and isinstance(message := choice.get("message"), dict):
                    details_by_key[_name(message)] = {
                        "usage": output.get("usage"),
                        "at": at,
                        "model": output.get("model"),
                    }
        elif event.get("event") == "tool":
            details_by_key[str(event.get("id"))] = {"at": at}
    return details_by_key


def _name(message: dict[str, Any]) -> str:
    """Return a key for a reply: its id, or its text in older logs, which have no ids."""
    return str(message.get("id") or f"said {plain_text(message.get('content'))}")


def _usage(usage: Any) -> Usage:
    """Parse a usage object. Whether the input includes cached tokens depends on the provider; the total shows it."""
    if not isinstance(usage, dict):
        return Usage()
    output, cache_read = parse_count(usage.get("output_tokens")), parse_count(usage.get("input_tokens_cache_read"))
    cache_write, total = parse_count(usage.get("input_tokens_cache_write")), parse_count(usage.get("total_tokens"))
    input = total - output if total > output else parse_count(usage.get("input_tokens"))
    return Usage(input, output, cache_read, cache_write, parse_count(usage.get("reasoning_tokens")))


def _resolve_attachments(value: Any, attached: dict[str, Any]) -> Any:
    """Replace references to attachments, which hold long texts and images, by their contents."""
    if isinstance(value, str) and value.startswith(ATTACHMENT_PREFIX):
        return attached.get(value.removeprefix(ATTACHMENT_PREFIX), value)
    if isinstance(value, list):
        return [_resolve_attachments(item, attached) for item in value]
    if isinstance(value, dict):
        return {name: _resolve_attachments(item, attached) for name, item in value.items()}
    return value


def _zipped(path: Path) -> Iterator[TranscriptRecord]:
    try:
        with zipfile.ZipFile(path) as log, path.open("rb") as file:
            names = {info.filename: info for info in log.infolist()}
            head = names.get("header.json") or names.get("_journal/start.json")
            header = json.loads(_member(log, file, head)) if head else {}
            task = header.get("eval") or {} if isinstance(header, dict) else {}
            for name, info in names.items():
                if name.startswith("samples/") and name.endswith(".json"):
                    yield from _sample(json.loads(_member(log, file, info)), task, path)
    except RecursionError as error:
        raise Problem(f"{path.name} cannot be imported.", "Its JSON is nested too deeply.", "") from error
    except DAMAGE_ERRORS as error:
        raise Problem(
            f"{path.name} cannot be imported.", f"Its ZIP archive is damaged: {error}.", "Copy the file again."
        ) from error


def _member(log: zipfile.ZipFile, file: Any, info: zipfile.ZipInfo) -> bytes:
    """Return the contents of a member, at most `MAX_DOCUMENT_BYTES` bytes."""
    if info.file_size > MAX_DOCUMENT_BYTES:
        raise Problem(f"{info.filename} is too large.", f"A sample may have up to {MAX_DOCUMENT_BYTES >> 20} MB.", "")
    if info.compress_type != ZSTD_METHOD:
        with log.open(info) as member:
            return member.read(MAX_DOCUMENT_BYTES)
    file.seek(info.header_offset)
    names, extra = struct.unpack("<HH", file.read(LOCAL_HEADER_BYTES)[26:30])
    file.seek(info.header_offset + LOCAL_HEADER_BYTES + names + extra)
    return _unpacked(file.read(info.compress_size))


def _unpacked(body: bytes) -> bytes:
    import zstandard  # rarely needed

    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as stream:
            return bytes(stream.read(MAX_DOCUMENT_BYTES))
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
