"""Incremental parsers for response bodies: server-sent events, NDJSON, or a single JSON value."""

from typing import NamedTuple

from core.models.errors import too_much
from core.models.line_splitter import BOM, LineSplitter

MAX_VALUE_BYTES = 4 << 20


class StreamEvent(NamedTuple):
    name: str
    data: str


class SseParser:
    """Parses server-sent events. A truncated event at the end of the stream is dropped, as the standard requires."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return the events that a chunk completes; comments are skipped."""
        events: list[StreamEvent] = []
        for line in self._lines.feed(chunk):
            if line[:6] == b"data: ":
                self._data.append(line[6:].decode("utf-8", "replace"))
            elif line:
                self._field(line)
            else:
                if self._data:
                    data = self._data[0] if len(self._data) == 1 else "\n".join(self._data)
                    events.append(StreamEvent(self._name, data))
                    self._data = []
                self._name = ""
        return events

    def finish(self) -> list[StreamEvent]:
        """Return no events, because a truncated event is dropped."""
        return []

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._data.append(text)
        elif name == b"event":
            self._name = text


class NdjsonParser:
    """Parses newline-delimited JSON into events without names. The last line needs no line end."""

    def __init__(self) -> None:
        self._lines = LineSplitter()

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        return [StreamEvent("", line.decode("utf-8", "replace")) for line in self._lines.feed(chunk) if line.strip()]

    def finish(self) -> list[StreamEvent]:
        line = self._lines.finish()
        return [StreamEvent("", line.decode("utf-8", "replace"))] if line.strip() else []


class JsonBodyParser:
    """Collects a body that is a single JSON value.

    Its size is limited, because decoding JSON blocks all other threads.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        self._pieces.append(chunk)
        self._size += len(chunk)
        if self._size > MAX_VALUE_BYTES:
            raise too_much("It is one JSON value of more than 4 MiB.")
        return []

    def finish(self) -> list[StreamEvent]:
        return [StreamEvent("", b"".join(self._pieces).removeprefix(BOM).decode("utf-8", "replace"))]
