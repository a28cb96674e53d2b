"""Bytes to lines, as they come: CR, LF and CRLF, split anywhere, none longer than allowed."""

from core.models.faults import too_much

LONGEST_LINE = 1 << 20


class Lines:
    """What has arrived of the line that is not whole yet."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._size = 0
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are whole now, without their ends."""
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
        if self._size > LONGEST_LINE or (lines and max(map(len, lines)) > LONGEST_LINE):
            raise too_much("A line of it is longer than 1 MiB.")
        return lines

    def rest(self) -> bytes:
        """The line that the end of the stream left without its end."""
        return b"".join(self._begun)
