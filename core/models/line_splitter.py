"""Splits a byte stream incrementally into lines of limited length, at CR, LF or CRLF."""

from core.models.errors import too_much

BOM = b"\xef\xbb\xbf"  # the UTF-8 byte order mark
MAX_LINE_BYTES = 1 << 20


class LineSplitter:
    """Splits a byte stream into lines. A chunk may end anywhere, even between CR and LF.

    A byte order mark at the beginning of the stream is removed.
    """

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._is_first_line = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that a chunk completes, without line ends; raise `ModelError` for a line over 1 MiB."""
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[:1] == b"\n":
                chunk = chunk[1:]
        if not chunk:
            return []
        lines = chunk.splitlines()
        ended = chunk[-1] in (10, 13)
        self._after_cr = chunk[-1] == 13
        if len(lines) == 1 and not ended:
            self._begun.append(chunk)
            self._size += len(chunk)
            lines = []
        else:
            if self._begun:
                lines[0] = b"".join((*self._begun, lines[0]))
            self._begun = [] if ended else [lines.pop()]
            self._size = 0 if ended else len(self._begun[0])
        if self._size > MAX_LINE_BYTES or (lines and max(map(len, lines)) > MAX_LINE_BYTES):
            raise too_much("It contains a line longer than 1 MiB.")
        if lines and self._is_first_line:
            self._is_first_line = False
            lines[0] = lines[0].removeprefix(BOM)
        return lines

    def finish(self) -> bytes:
        """Return the last line, if no line end followed it."""
        line = b"".join(self._begun)
        return line.removeprefix(BOM) if self._is_first_line else line
