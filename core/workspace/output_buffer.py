"""The output of a command, of which the start and the end are kept."""

KEPT_BYTES = 262_144  # bytes of output kept from the start, and as many from the end


class OutputBuffer:
    """A buffer that keeps the start and the end of an output of any length."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        free = KEPT_BYTES - len(self._head)
        self._head += chunk[:free]
        self._tail += chunk[free:]
        if len(self._tail) > 2 * KEPT_BYTES:  # shortened rarely, because that copies what is kept
            del self._tail[:-KEPT_BYTES]

    def text(self) -> str:
        """Return what is kept, with a note of how much was omitted in the middle."""
        tail = bytes(self._tail[-KEPT_BYTES:])
        omitted = self.size - len(self._head) - len(tail)
        if omitted <= 0:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        head = self._head.decode("utf-8", "replace")
        return f"{head}\n… {omitted:,} bytes omitted …\n{tail.decode('utf-8', 'replace')}"
