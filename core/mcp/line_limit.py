"""Limits the length of a line from a local MCP server: the client library would buffer an endless line in memory."""

from typing import Any

from anyio.streams.text import TextReceiveStream
from mcp.client import stdio

MAX_LINE_CHARS = 16 << 20


class LineTooLongError(ValueError):
    """A server wrote a line longer than `MAX_LINE_CHARS`."""

    def __init__(self) -> None:
        super().__init__(f"It wrote a line longer than {MAX_LINE_CHARS >> 20} MiB")


class LimitedTextStream(TextReceiveStream):
    """A stream of the server's output that yields whole lines of text.

    If a line is longer than MAX_LINE_CHARS, the stream closes itself, which ends the connection.
    """

    def __post_init__(self, *options: Any) -> None:
        super().__post_init__(*options)
        self._partial_line: list[str] = []  # chunks of the line whose end has not arrived
        self._partial_chars = 0

    async def receive(self) -> str:
        while True:
            chunk = await super().receive()
            lines, newline, unfinished = chunk.rpartition("\n")
            if newline:
                received = "".join((*self._partial_line, lines, newline))
                self._partial_line, self._partial_chars = [unfinished], len(unfinished)
                return received
            self._partial_line.append(chunk)
            self._partial_chars += len(chunk)
            if self._partial_chars > MAX_LINE_CHARS:
                self._partial_line.clear()
                await self.aclose()  # Otherwise the library would read until the server ends.
                raise LineTooLongError


def limited_stdio_client(*arguments: Any, **options: Any) -> Any:
    """Call `stdio_client` of the library with LimitedTextStream, which replaces its stream class in its module."""
    vars(stdio)["TextReceiveStream"] = LimitedTextStream
    return stdio.stdio_client(*arguments, **options)
