"""Parsing of `.gitignore` files, and matching of paths against them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.domain.globs import matches

MAX_PATTERNS = 2_000  # of one file
MAX_LENGTH = 500  # characters of a pattern


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
    patterns = (_parse_pattern(line) for line in text.splitlines()[:MAX_PATTERNS])
    return IgnoreFile(tuple(folder), tuple(pattern for pattern in patterns if pattern))


def _parse_pattern(line: str) -> IgnorePattern | None:
    """Parse a line; return None for an empty line, a comment and a too long pattern."""
    unended = line.rstrip("\r\n")
    text = unended if unended.endswith("\\ ") else unended.rstrip()
    if not text or text.startswith("#") or len(text) > MAX_LENGTH:
        return None
    pattern = text.removeprefix("!").removeprefix("\\")
    is_anchored = "/" in pattern.rstrip("/")
    parts = tuple(part for part in pattern.split("/") if part)
    if not parts:
        return None
    return IgnorePattern(
        parts=parts if is_anchored else ("**", *parts),
        negated=text.startswith("!"),
        folders_only=pattern.endswith("/"),
    )


def is_ignored(path: Sequence[str], is_folder: bool, ignore_files: Iterable[IgnoreFile]) -> bool:
    """Return whether a path is ignored.

    `ignore_files` are ordered from the top folder down; later ones override earlier ones.
    """
    ignored = False
    for ignore_file in ignore_files:
        inner_path = path[len(ignore_file.folder) :]
        for pattern in ignore_file.patterns:
            applies = is_folder or not pattern.folders_only
            if applies and ignored == pattern.negated and matches(pattern.parts, inner_path):
                ignored = not pattern.negated
    return ignored
