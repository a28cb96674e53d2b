"""Server-sent events from bytes, as they come, split anywhere."""

from typing import NamedTuple

from core.models.faults import too_much
from core.models.lines import Lines

BOM = b"\xef\xbb\xbf"
LARGEST_VALUE = 4 << 20


class Event(NamedTuple):
    name: str
    data: str


class Sse:
    """The event that is being read. One that the end of the stream cuts short is none."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._name = ""
        self._data: list[str] = []
        self._first = True

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that are whole now; comments are none."""
        lines = self._lines.feed(chunk)
        if self._first and lines:
            self._first = False
            lines[0] = lines[0].removeprefix(BOM)
        events: list[Event] = []
        for line in lines:
            if line[:6] == b"data: ":
                self._data.append(line[6:].decode("utf-8", "replace"))
            elif line:
                self._field(line)
            else:
                if self._data:
                    data = self._data[0] if len(self._data) == 1 else "\n".join(self._data)
                    events.append(Event(self._name, data))
                    self._data = []
                self._name = ""
        return events

    def rest(self) -> list[Event]:
        """What the end of the stream makes whole: nothing."""
        return []

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._data.append(text)
        elif name == b"event":
            self._name = text


class Ndjson:
    """A JSON value per line, under the same two words; the last line needs no end."""

    def __init__(self) -> None:
        self._lines = Lines()

    def feed(self, chunk: bytes) -> list[Event]:
        return [Event("", line.decode("utf-8", "replace")) for line in self._lines.feed(chunk) if line.strip()]

    def rest(self) -> list[Event]:
        line = self._lines.rest()
        return [Event("", line.decode("utf-8", "replace"))] if line.strip() else []


class Whole:
    """One JSON value instead of a stream. It is read in one go, in which no other thread can run: so it has a bound."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Event]:
        self._pieces.append(chunk)
        self._size += len(chunk)
        if self._size > LARGEST_VALUE:
            raise too_much("It is one value of more than 4 MiB.")
        return []

    def rest(self) -> list[Event]:
        return [Event("", b"".join(self._pieces).removeprefix(BOM).decode("utf-8", "replace"))]
