"""Files that a run wrote after it had read untrusted content, and the label of such a file as a source."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

WRITTEN_AFTER = ", written by a session that read "
MAX_SOURCES = 5
MAX_PLAIN_NAME = 40  # characters


@dataclass(frozen=True, slots=True)
class UntrustedFile:
    """A file whose contents may repeat untrusted content, because the session that wrote it had read `sources`.

    Attributes:
        path: absolute path. With a trailing slash it stands for every file in that folder.
        hash: hash of the contents; empty if they were not recorded.
        earlier: hash of the contents before the first such write; empty for a new file. With these contents the file
            is as trusted as it was.
        created_at: when it was written, in microseconds.
    """

    path: str
    hash: str
    earlier: str
    sources: tuple[str, ...]
    session: str
    created_at: int

    @property
    def name_is_text(self) -> bool:
        """Whether the name alone may repeat untrusted content: it is long or has spaces. Listings show only names."""
        return is_text(self.path.rstrip("/").rpartition("/")[2])

    def covers(self, path: str, digest: str) -> bool:
        """Return whether a file at this path with these contents counts as untrusted; `digest` may be empty."""
        if self.path.endswith("/"):
            return path.startswith(self.path) or f"{path}/" == self.path
        return self.path == path and not (digest and digest == self.earlier)


def is_text(name: str) -> bool:
    """Return whether a name may say something: it is long or has spaces."""
    return len(name) > MAX_PLAIN_NAME or any(character.isspace() for character in name)


def root_sources(sources: Iterable[str]) -> tuple[str, ...]:
    """Return where untrusted content came from in the first place: for a file, what its writer had read."""
    roots = dict.fromkeys(source.rpartition(WRITTEN_AFTER)[2] for source in sources)
    return tuple(roots)[:MAX_SOURCES]


def untrusted_file_label(name: str, sources: Iterable[str], more: int = 0) -> str:
    """Return the label of a file as an untrusted source. `more` counts further files that were read with it."""
    suffix = f" and {more:,} more" if more else ""
    return f"file: {name}{suffix}{WRITTEN_AFTER}{', '.join(root_sources(sources))}"


@dataclass(frozen=True, slots=True)
class UnreviewedFile:
    """An untrusted file as the user sees it. `name` is relative to the folder, and ends with a slash for a folder."""

    name: str
    hash: str
    sources: tuple[str, ...]
    session: str
    created_at: int


def unreviewed_file(file: UntrustedFile, folder: Path) -> UnreviewedFile:
    """Return how the user sees an untrusted file in a folder."""
    root = f"{folder.resolve().as_posix().rstrip('/')}/"
    name = file.path.removeprefix(root) if file.path != root else "./"
    return UnreviewedFile(name, file.hash, file.sources, file.session, file.created_at)
