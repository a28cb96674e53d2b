"""A buffer for the output of a command that keeps only its start and its end."""

KEPT_BYTES = 262_144  # bytes kept of the start, and as many of the end


class OutputBuffer:
    """Collects output of any length in limited memory, by omitting the middle."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        free = KEPT_BYTES - len(self._head)
        self._head += chunk[:free]
        self._tail += chunk[free:]
        if len(self._tail) > 2 * KEPT_BYTES:  # not at every chunk, because deleting copies the tail
            del self._tail[:-KEPT_BYTES]

    def text(self) -> str:
        """Return the kept output, with a note in the middle on how many bytes were omitted."""
        tail = bytes(self._tail[-KEPT_BYTES:])
        omitted = self.size - len(self._head) - len(tail)
        if omitted <= 0:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        head = self._head.decode("utf-8", "replace")
        return f"{head}\n… {omitted:,} bytes omitted …\n{tail.decode('utf-8', 'replace')}"
