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


class At(NamedTuple):
    """Events written `after` seconds after the previous ones."""

    after: float
    events: tuple[SessionEvent, ...]


class SampleSession(NamedTuple):
    title: str
    folder: str
    ago: float
    facts: Sequence[At]
    helper: Sequence[At] = ()
    """The events of the sub-agent that the session delegated to, if any."""


def user_task(task: str) -> At:
    return At(0, (UserMessage(Text(task)), RunStarted(MODEL, 60)))


def thought(
    number: int, words: str, seconds: float, tokens: int, text: str = "", *calls: ToolCall,
    room: dict[str, int] | None = None, model: str = MODEL, cost: float | None = None,
) -> list[At]:  # fmt: skip
    """Return a request and its reply; `room` has the tokens in the context window by category."""
    reply = Replied(Text(text), Text(words), calls, Usage(tokens * 4 // 5, tokens // 5), cost=cost)
    filled = {
        "tools": 4_005,
        "system": 2_670,
        "user": 335,
        "replies": 130 * number,
        "results:read": 1_900 + 640 * number,
        "results:run": 1 + 410 * (number - 1),
    }
    sent = RequestSent(model, number, tokens=filled if room is None else room, context_window=WINDOW)
    return [At(0.1, (sent,)), At(seconds, (reply,))]


def did(
    call: str, tool: str, kind: str, what: str, seconds: float, output: str = "", code: int | None = None,
    change: FileChanged | None = None, attached: tuple[Attachment, ...] = (),
) -> list[At]:  # fmt: skip
    """Return a completed call, with the file change it made, if any."""
    back: tuple[SessionEvent, ...] = (ToolReturned(call, Text(output), bool(code), code, attached),)
    return [
        At(0.05, (CallStarted(call, tool, kind, what),)),
        At(seconds, (change, *back) if change else back),
    ]


def name_of(text: str) -> str:
    return blob_hash(text.encode())


def with_calls(facts: list[At]) -> list[At]:
    """Add to each reply the tool calls that follow it."""
    made: list[At] = []
    calls: list[ToolCall] = []
    for at in reversed(facts):
        events: list[SessionEvent] = []
        for event in reversed(at.events):
            if isinstance(event, CallStarted):
                calls.insert(0, ToolCall(event.call_id, event.tool, Text(json.dumps({"what": event.object}))))
            if isinstance(event, Replied) and calls:
                event, calls = replace(event, calls=tuple(calls)), []
            events.insert(0, event)
        made.insert(0, At(at.after, tuple(events)))
    return made


def picture(width: int = 320, height: int = 200) -> bytes:
    """Return a sample image, a damp patch on a wall, as a PNG."""

    def part(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    lines = bytearray()
    for y in range(height):
        lines.append(0)
        for x in range(width):
            away = ((x - width * 0.62) ** 2 / 2.2 + (y - height * 0.3) ** 2) ** 0.5 / height
            damp = max(0.0, 1.0 - away * 2.4) * (0.7 + 0.3 * ((x * 7 + y * 13) % 11 > 4))
            tile = 8 if x % 40 < 2 or y % 40 < 2 else 0
            lines += bytes(round(light - tile - damp * dark) for light, dark in ((222, 150), (218, 140), (206, 150)))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = part(b"IHDR", head) + part(b"IDAT", zlib.compress(bytes(lines), 9)) + part(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
