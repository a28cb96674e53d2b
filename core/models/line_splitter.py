"""Incremental splitting of bytes into lines (CR, LF or CRLF) of limited length."""

from core.models.errors import too_much

MAX_LINE_BYTES = 1 << 20


class LineSplitter:
    """Splits a byte stream into lines; chunks may end anywhere, also between CR and LF."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._size = 0
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines completed by a chunk, without their line ends. Raises `ModelError` for a line over 1 MiB."""
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
        return lines

    def finish(self) -> bytes:
        """Return the last line if it had no line end."""
        return b"".join(self._begun)
