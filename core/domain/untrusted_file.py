"""Files that a run wrote after it had read untrusted content, and their labels as untrusted sources."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

WRITTEN_AFTER = ", written by a session that read "
SOURCE_TEXTS = MappingProxyType({"folder": "files of the folder", "command": "the output of commands"})
MAX_SOURCES = 5
MAX_PLAIN_NAME = 40  # characters of a file name that is too short to carry instructions


@dataclass(frozen=True, slots=True)
class UntrustedFile:
    """A file that may repeat untrusted content, because the session that wrote it had read the untrusted `sources`.

    Attributes:
        path: the absolute path. With a trailing slash, it stands for every file in that folder.
        hash: the hash of the contents; "" if they were not recorded.
        earlier: the hash of the contents before the first such write; "" for a new file. A file with these contents
            again is no longer untrusted.
        created_at: when the file was written, in microseconds.
    """

    path: str
    hash: str
    earlier: str
    sources: tuple[str, ...]
    session: str
    created_at: int

    @property
    def name_is_text(self) -> bool:
        """Whether the file name, which listings show, may repeat untrusted text, as it is long or has spaces."""
        return is_text(self.path.rstrip("/").rpartition("/")[2])

    def covers(self, path: str, digest: str) -> bool:
        """Return whether a file at this path counts as untrusted, unless its contents have the hash from before.

        `digest` is the hash of its contents; "" if unknown.
        """
        if self.path.endswith("/"):
            return path.startswith(self.path) or f"{path}/" == self.path
        return self.path == path and not (digest and digest == self.earlier)


def is_text(name: str) -> bool:
    """Return whether a file name may carry a message, because it is long or has spaces."""
    return len(name) > MAX_PLAIN_NAME or any(character.isspace() for character in name)


def root_sources(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the original untrusted sources; for an untrusted file, the sources that its writer had read."""
    roots = dict.fromkeys(source.rpartition(WRITTEN_AFTER)[2] for source in sources)
    return tuple(roots)[:MAX_SOURCES]


def untrusted_file_label(name: str, sources: Iterable[str], more: int = 0) -> str:
    """Return the label of an untrusted file as a source. `more` counts further files that were read with it."""
    suffix = f" and {more:,} more" if more else ""
    return f"file: {name}{suffix}{WRITTEN_AFTER}{', '.join(root_sources(sources))}"


def source_texts(labels: Iterable[str]) -> list[str]:
    """Return untrusted sources in words for the user, each once. Those that name further sources are last."""
    texts = dict[str, bool]()
    for label in labels:
        file, written_after, roots = label.rpartition(WRITTEN_AFTER)
        root_texts = dict.fromkeys(SOURCE_TEXTS.get(root, root) for root in roots.split(", "))
        texts[f"{file}{written_after}{', '.join(root_texts)}"] = bool(written_after)
    return sorted(texts, key=lambda text: texts[text])


@dataclass(frozen=True, slots=True)
class UnreviewedFile:
    """An untrusted file for display. `name` is relative to the folder and ends with a slash for a folder."""

    name: str
    hash: str
    sources: tuple[str, ...]
    session: str
    created_at: int


def unreviewed_file(file: UntrustedFile, folder: Path) -> UnreviewedFile:
    """Return an untrusted file in the form in which it is displayed for a folder."""
    root = f"{folder.resolve().as_posix().rstrip('/')}/"
    name = file.path.removeprefix(root) if file.path != root else "./"
    return UnreviewedFile(
        name=name, hash=file.hash, sources=file.sources, session=file.session, created_at=file.created_at
    )
