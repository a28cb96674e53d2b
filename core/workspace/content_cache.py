"""A cache of file contents by path, limited in total size and number of files."""

TOTAL = 64 << 20
KEPT_FILES = 20_000


class ContentCache:
    """File contents by path. When a limit is reached, `keep` refuses new files rather than dropping earlier ones."""

    def __init__(self, total: int = TOTAL, files: int = KEPT_FILES) -> None:
        self._remaining = total
        self._files = files
        self._bodies: dict[str, bytes] = {}

    def keep(self, path: str, body: bytes) -> bool:
        self.drop(path)
        if len(body) > self._remaining or len(self._bodies) >= self._files:
            return False
        self._remaining -= len(body)
        self._bodies[path] = body
        return True

    def get(self, path: str) -> bytes | None:
        return self._bodies.get(path)

    def copy(self) -> "ContentCache":
        """Return an independent copy, which shares the immutable contents."""
        other = ContentCache()
        other._remaining, other._files, other._bodies = self._remaining, self._files, dict(self._bodies)
        return other

    def drop(self, path: str) -> None:
        self._remaining += len(self._bodies.pop(path, b""))
