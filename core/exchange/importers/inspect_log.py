"""Inspect: a log of samples, as one JSON document or as a ZIP whose members may be packed with zstd."""

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.domain.problems import Problem
from core.exchange.importers.blocks import chat_calls, images, thoughts
from core.exchange.importers.called import plain_text
from core.exchange.importers.record import LARGEST, Open, Record, document, listed, moment, number
from core.exchange.importers.telling import Telling

ZSTD = 93
LOCAL = 30  # bytes of the head of a member
ATTACHED = "attachment://"
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError)  # of a ZIP, or of its JSON


class Inspect:
    """Each sample is a session; its messages are the records."""

    agent = "Inspect"
    usual: tuple[str, ...] = ()

    def knows(self, path: Path, head: bytes) -> bool:
        if path.suffix == ".eval":
            return head.startswith(b"PK")
        return head.lstrip().startswith(b"{") and b'"eval"' in head and b'"version"' in head and b'"task"' in head

    def records(self, path: Path) -> Iterator[Record]:
        if path.suffix == ".eval":
            yield from _zipped(path)
            return
        whole = document(path)
        for sample in whole.get("samples") or ():
            yield from _sample(sample, whole.get("eval") or {}, path)

    def tell(self, record: Record, telling: Telling, open: Open) -> bool:
        said = record.value
        if not isinstance(said, dict):
            return False
        if "sample" in said:
            _about(said["sample"], telling)
            return True
        if "ended" in said:
            _end(said["ended"], telling)
            return True
        at = moment(said.get("at"))
        content = said.get("content")
        match said.get("role"):
            case "user":
                telling.person(plain_text(content), at, images(content if isinstance(content, list) else []))
            case "assistant":
                telling.reply(
                    plain_text([p for p in content if not _is_thought(p)] if isinstance(content, list) else content),
                    at=at, thought=thoughts(content), calls=chat_calls(said.get("tool_calls")),
                    usage=_usage(said.get("usage")), model=str(said.get("model") or ""),
                )  # fmt: skip
            case "tool":
                error = said.get("error")
                words = error.get("message") if isinstance(error, dict) else ""
                output = "\n".join(filter(None, (plain_text(content), words)))
                telling.result(str(said.get("tool_call_id")), output, at=at, failed=bool(error))
            case _:
                return False
        return True


def _is_thought(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "reasoning"


def _about(sample: dict[str, Any], telling: Telling) -> None:
    model = str(sample.get("model") or "")
    telling.about(title=f"{sample.get('task') or 'sample'}: {sample.get('id')}", model=model)
    telling.at = max(telling.at, moment(sample.get("created")))


def _end(ended: dict[str, Any], telling: Telling) -> None:
    scores = ended.get("scores")
    said = ", ".join(f"{name}: {score.get('value')}" for name, score in scores.items()
                     if isinstance(score, dict)) if isinstance(scores, dict) else ""  # fmt: skip
    error = ended.get("error")
    if isinstance(error, dict):
        telling.failed(str(error.get("message") or "an error"))
    else:
        telling.completed(said)


def _sample(sample: Any, about: dict[str, Any], path: Path) -> Iterator[Record]:
    """The head of a sample, its messages with what the events know of them, and how it ended."""
    if not isinstance(sample, dict):
        return
    key = f"{about.get('eval_id') or about.get('run_id') or path.stem}/{sample.get('id')}/{sample.get('epoch', 1)}"
    attached = sample.get("attachments") if isinstance(sample.get("attachments"), dict) else {}
    known = _known(sample.get("events"))
    head = {
        "task": about.get("task"),
        "id": sample.get("id"),
        "model": about.get("model"),
        "created": about.get("created"),
    }
    yield from listed(key, [{"sample": head}])
    messages = [
        {**_whole(said, attached or {}), **known.get(_name(said) if said.get("role") == "assistant"
                                                     else str(said.get("tool_call_id")), {})}
        for said in sample.get("messages") or ()
        if isinstance(said, dict)
    ]  # fmt: skip
    _count_last(messages, sample.get("output"))
    yield from listed(key, messages, path.stat().st_size)
    yield from listed(key, [{"ended": {"scores": sample.get("scores"), "error": sample.get("error")}}])


def _count_last(messages: list[dict[str, Any]], output: Any) -> None:
    """Older logs hold no events: what the last reply used stands with the output."""
    last = next((said for said in reversed(messages) if said.get("role") == "assistant"), None)
    if last is not None and "usage" not in last and isinstance(output, dict):
        last["usage"] = output.get("usage")


def _known(events: Any) -> dict[str, dict[str, Any]]:
    """Usage and times of replies by the name of their message, times of results by that of their call."""
    found: dict[str, dict[str, Any]] = {}
    for event in events if isinstance(events, list) else ():
        if not isinstance(event, dict):
            continue
        output, at = event.get("output"), event.get("completed") or event.get("timestamp")
        if event.get("event") == "model" and isinstance(output, dict):
            for choice in output.get("choices") or ():
                if isinstance(choice, dict) and isinstance(said := choice.get("message"), dict):
                    found[_name(said)] = {"usage": output.get("usage"), "at": at, "model": output.get("model")}
        elif event.get("event") == "tool":
            found[str(event.get("id"))] = {"at": at}
    return found


def _name(said: dict[str, Any]) -> str:
    """A reply goes by its id; older logs have none, so by its words."""
    return str(said.get("id") or f"said {plain_text(said.get('content'))}")


def _usage(told: Any) -> Usage:
    """Its input counts what came from a cache with some models, and with others not: the total tells."""
    if not isinstance(told, dict):
        return Usage()
    output, cached = number(told.get("output_tokens")), number(told.get("input_tokens_cache_read"))
    written, total = number(told.get("input_tokens_cache_write")), number(told.get("total_tokens"))
    input = total - output if total > output else number(told.get("input_tokens"))
    return Usage(input, output, cached, written, number(told.get("reasoning_tokens")))


def _whole(value: Any, attached: dict[str, Any]) -> Any:
    """With long texts and pictures where they belong."""
    if isinstance(value, str) and value.startswith(ATTACHED):
        return attached.get(value.removeprefix(ATTACHED), value)
    if isinstance(value, list):
        return [_whole(item, attached) for item in value]
    if isinstance(value, dict):
        return {name: _whole(item, attached) for name, item in value.items()}
    return value


def _zipped(path: Path) -> Iterator[Record]:
    try:
        with zipfile.ZipFile(path) as log, path.open("rb") as file:
            names = {info.filename: info for info in log.infolist()}
            head = names.get("header.json") or names.get("_journal/start.json")
            header = json.loads(_member(log, file, head)) if head else {}
            about = header.get("eval") or {} if isinstance(header, dict) else {}
            for name, info in names.items():
                if name.startswith("samples/") and name.endswith(".json"):
                    yield from _sample(json.loads(_member(log, file, info)), about, path)
    except RecursionError as error:
        raise Problem(f"{path.name} cannot be imported.", "Its JSON is nested too deep.", "") from error
    except DAMAGE as error:
        raise Problem(
            f"{path.name} cannot be imported.", f"Its ZIP is damaged: {error}.", "Copy it once more."
        ) from error


def _member(log: zipfile.ZipFile, file: Any, info: zipfile.ZipInfo) -> bytes:
    """The contents of a member, no more of them than a document may have."""
    if info.file_size > LARGEST:
        raise Problem(f"{info.filename} is too large.", f"A sample is read up to {LARGEST >> 20} MB.", "")
    if info.compress_type != ZSTD:
        with log.open(info) as member:
            return member.read(LARGEST)
    file.seek(info.header_offset)
    names, extra = struct.unpack("<HH", file.read(LOCAL)[26:30])
    file.seek(info.header_offset + LOCAL + names + extra)
    return _unpacked(file.read(info.compress_size))


def _unpacked(body: bytes) -> bytes:
    import zstandard  # only where somebody opens such a log

    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as stream:
            return bytes(stream.read(LARGEST))
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
