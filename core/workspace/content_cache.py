"""A cache of file contents by path, limited in total size and number of files."""

MAX_BYTES = 64 << 20
MAX_FILES = 20_000


class ContentCache:
    """File contents by path. When a limit is reached, `keep` refuses new files rather than dropping earlier ones."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> None:
        self._free_bytes = max_bytes
        self._max_files = max_files
        self._bodies: dict[str, bytes] = {}

    def keep(self, path: str, body: bytes) -> bool:
        """Keep the contents of a file in place of earlier ones; return False if there is no room for them."""
        self.drop(path)
        if len(body) > self._free_bytes or len(self._bodies) >= self._max_files:
            return False
        self._free_bytes -= len(body)
        self._bodies[path] = body
        return True

    def get(self, path: str) -> bytes | None:
        return self._bodies.get(path)

    def copy(self) -> "ContentCache":
        """Return an independent copy, which shares the immutable contents."""
        other = ContentCache(max_bytes=self._free_bytes, max_files=self._max_files)
        other._bodies = dict(self._bodies)
        return other

    def drop(self, path: str) -> None:
        self._free_bytes += len(self._bodies.pop(path, b""))
