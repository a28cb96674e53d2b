"""Parsing of `.gitignore` files, and matching of paths against them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.domain.globs import matches

MOST = 2_000  # patterns of one file
LONGEST = 500


@dataclass(frozen=True, slots=True)
class IgnorePattern:
    parts: tuple[str, ...]
    negated: bool  # begins with "!": includes again what an earlier pattern excluded
    folders_only: bool  # ends with "/": matches folders only


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The patterns of one `.gitignore`, and the path of its folder as a tuple of names."""

    folder: tuple[str, ...]
    patterns: tuple[IgnorePattern, ...]


def parse_gitignore(text: str, folder: Sequence[str]) -> IgnoreFile:
    """Parse the lines of a `.gitignore`. The last pattern that matches a path decides."""
    patterns = (_pattern(line) for line in text.splitlines()[:MOST])
    return IgnoreFile(tuple(folder), tuple(pattern for pattern in patterns if pattern))


def _pattern(line: str) -> IgnorePattern | None:
    line = line.rstrip() if not line.rstrip("\r\n").endswith("\\ ") else line.rstrip("\r\n")
    if not line or line.startswith("#") or len(line) > LONGEST:
        return None
    negated = line.startswith("!")
    line = line[1:] if negated else line
    line = line.removeprefix("\\")
    folders_only = line.endswith("/")
    body = line.rstrip("/")
    anchored = "/" in body
    parts = tuple(part for part in body.split("/") if part)
    if not parts:
        return None
    return IgnorePattern(parts if anchored else ("**", *parts), negated, folders_only)


def is_ignored(path: Sequence[str], folder: bool, rules: Iterable[IgnoreFile]) -> bool:
    """Return whether a path is ignored. `folder` says that it is a folder.

    `rules` are ordered from the top folder down; later files override earlier ones.
    """
    ignored = False
    for rule in rules:
        inner = path[len(rule.folder) :]
        for pattern in rule.patterns:
            if (folder or not pattern.folders_only) and ignored == pattern.negated and matches(pattern.parts, inner):
                ignored = not pattern.negated
    return ignored
