"""Builders of sample events with their times, for the screenshots."""

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from core.domain.events import (
    CallStarted,
    FileChanged,
    Replied,
    RequestSent,
    RunStarted,
    SessionEvent,
    ToolCall,
    ToolReturned,
    Usage,
    UserMessage,
)
from core.domain.text import Attachment, Text
from core.store.blobs import blob_hash

MODEL: Final = "ollama/qwen3:32b"
WINDOW: Final = 128_000


class TimedEvents(NamedTuple):
    """Events that are written together, `delay` seconds after the previous ones."""

    delay: float
    events: tuple[SessionEvent, ...]


class SampleSession(NamedTuple):
    """A session that was last active `seconds_ago`; `subagent` holds the events of its sub-agent, if it has one."""

    title: str
    folder: str
    seconds_ago: float
    timeline: Sequence[TimedEvents]
    subagent: Sequence[TimedEvents] = ()


def after(seconds: float, *events: SessionEvent) -> TimedEvents:
    """Return events that are written `seconds` after the previous ones."""
    return TimedEvents(seconds, events)


def start_run(task: str, model: str = MODEL) -> TimedEvents:
    """Return the user's message and the start of the run that works on it."""
    return after(0, UserMessage(Text(task)), RunStarted(model, max_turns=60))


def model_turn(
    number: int,
    reasoning: str,
    *,
    seconds: float,
    tokens: int,
    reply: str = "",
    context: dict[str, int] | None = None,
    model: str = MODEL,
    cost: float | None = None,
) -> list[TimedEvents]:
    """Return a request to the model and its reply. `context` is the number of tokens sent, by category."""
    sent_tokens = context or {
        "tools": 4_005,
        "system": 2_670,
        "user": 335,
        "replies": 130 * number,
        "results:read": 1_900 + 640 * number,
        "results:run": 1 + 410 * (number - 1),
    }
    usage = Usage(input=tokens * 4 // 5, output=tokens // 5)
    return [
        after(0.1, RequestSent(model, number, tokens=sent_tokens, context_window=WINDOW)),
        after(seconds, Replied(Text(reply), Text(reasoning), usage=usage, cost=cost)),
    ]


def tool_call(
    call_id: str,
    tool: str,
    object: str,
    *,
    seconds: float,
    output: str = "",
    exit_code: int | None = None,
    change: FileChanged | None = None,
    attachments: tuple[Attachment, ...] = (),
) -> list[TimedEvents]:
    """Return a completed tool call, with the file change that it made, if any."""
    step_kind = "command" if tool == "run" else tool
    returned = ToolReturned(call_id, Text(output), failed=bool(exit_code), exit_code=exit_code, attachments=attachments)
    effects: tuple[SessionEvent, ...] = (change, returned) if change else (returned,)
    return [after(0.05, CallStarted(call_id, tool, step_kind, object)), after(seconds, *effects)]


def read_file(call_id: str, path: str, text: str, *, seconds: float = 0.02) -> list[TimedEvents]:
    return tool_call(call_id, "read", path, seconds=seconds, output=text)


def run_command(
    call_id: str,
    command: str,
    output: str,
    *,
    seconds: float,
    exit_code: int = 0,
    change: FileChanged | None = None,
) -> list[TimedEvents]:
    return tool_call(call_id, "run", command, seconds=seconds, output=output, exit_code=exit_code, change=change)


def text_hash(text: str) -> str:
    """Return the blob name of a text."""
    return blob_hash(text.encode())


def with_calls(timeline: Sequence[TimedEvents]) -> list[TimedEvents]:
    """Add to each reply the tool calls that follow it."""
    completed: list[TimedEvents] = []
    calls: list[ToolCall] = []
    for entry in reversed(timeline):
        events: list[SessionEvent] = []
        for event in reversed(entry.events):
            if isinstance(event, CallStarted):
                calls.insert(0, ToolCall(event.call_id, event.tool, Text(json.dumps({"what": event.object}))))
            if isinstance(event, Replied) and calls:
                event, calls = replace(event, calls=tuple(calls)), []
            events.insert(0, event)
        completed.insert(0, TimedEvents(entry.delay, tuple(events)))
    return completed


def damp_wall_png(width: int = 320, height: int = 200) -> bytes:
    """Return a sample image, a damp patch on a wall, as a PNG."""
    pixels = bytearray()
    for y in range(height):
        pixels.append(0)  # this row of the image is not filtered
        for x in range(width):
            distance = ((x - width * 0.62) ** 2 / 2.2 + (y - height * 0.3) ** 2) ** 0.5 / height
            dampness = max(0.0, 1.0 - distance * 2.4) * (0.7 + 0.3 * ((x * 7 + y * 13) % 11 > 4))
            joint = 8 if x % 40 < 2 or y % 40 < 2 else 0
            channels = ((222, 150), (218, 140), (206, 150))  # of a dry wall, and how much dampness darkens it
            pixels += bytes(round(dry - joint - dampness * darkening) for dry, darkening in channels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = (
        _png_chunk(b"IHDR", header),
        _png_chunk(b"IDAT", zlib.compress(bytes(pixels), 9)),
        _png_chunk(b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
