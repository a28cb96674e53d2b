"""What `.gitignore` leaves out, folder by folder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.domain.globs import matches

MOST = 2_000  # patterns of one file
LONGEST = 500


@dataclass(frozen=True, slots=True)
class Pattern:
    parts: tuple[str, ...]
    again: bool  # a "!" takes back what an earlier line left out
    folders: bool  # a "/" at the end means folders only


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns of one folder, with the parts of its path."""

    folder: tuple[str, ...]
    patterns: tuple[Pattern, ...]


def read_patterns(text: str, folder: Sequence[str]) -> Ignored:
    """The lines of a `.gitignore`; the last one that fits decides."""
    found = (_pattern(line) for line in text.splitlines()[:MOST])
    return Ignored(tuple(folder), tuple(pattern for pattern in found if pattern))


def _pattern(line: str) -> Pattern | None:
    line = line.rstrip() if not line.rstrip("\r\n").endswith("\\ ") else line.rstrip("\r\n")
    if not line or line.startswith("#") or len(line) > LONGEST:
        return None
    again = line.startswith("!")
    line = line[1:] if again else line
    line = line.removeprefix("\\")
    folders = line.endswith("/")
    body = line.rstrip("/")
    anchored = "/" in body
    parts = tuple(part for part in body.split("/") if part)
    if not parts:
        return None
    return Pattern(parts if anchored else ("**", *parts), again, folders)


def is_ignored(path: Sequence[str], folder: bool, rules: Iterable[Ignored]) -> bool:
    """`rules` go from the top folder down; the nearest word counts."""
    out = False
    for rule in rules:
        inner = path[len(rule.folder) :]
        for pattern in rule.patterns:
            if (folder or not pattern.folders) and out == pattern.again and matches(pattern.parts, inner):
                out = not pattern.again
    return out
