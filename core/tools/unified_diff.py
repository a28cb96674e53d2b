"""Parses unified diffs strictly and applies them, either completely or not at all."""

import re
from dataclasses import dataclass, field

from core.domain.problems import Problem

HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
NO_FILE = "/dev/null"
UNSUPPORTED = ("GIT binary patch", "Binary files ", "rename from ", "rename to ", "copy from ", "copy to ")


@dataclass(slots=True)
class PatchHunk:
    """A hunk. `start` is its line in the old text, from 1; lines keep their line endings."""

    start: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FilePatch:
    """The hunks of one file. `old` is empty if the file is created, `new` if it is deleted."""

    old: str
    new: str
    hunks: list[PatchHunk] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.new or self.old


def parse_diff(text: str) -> list[FilePatch]:
    """Parse a diff into the changes of each file, in its order; raise a Problem that names the invalid line."""
    lines = split_lines(text)
    files: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at].rstrip("\r\n")
        if line.startswith(UNSUPPORTED):
            raise _bad(at, "Renames and binary files are not supported.", "Patch contents; move files with a command.")
        if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            files.append(_names(line, lines[at + 1].rstrip("\r\n"), at))
            at += 2
        elif line.startswith("@@"):
            if not files:
                raise _bad(at, "A hunk comes before any file.", "Start with --- and +++ lines.")
            at = _hunk(lines, at, files[-1])
        elif line.startswith(("+", "-", " ")) and line != "-- " and files and files[-1].hunks:
            raise _bad(at, "A hunk is longer than its @@ line says.", "Correct the counts in the @@ line.")
        else:
            at += 1
    _refuse_useless(files)
    return files


def split_lines(text: str) -> list[str]:
    """Split a text into lines with their endings; only a line feed ends a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _refuse_useless(files: list[FilePatch]) -> None:
    if not files or not all(file.hunks for file in files):
        raise Problem("This is not a unified diff.", "It has no file or no hunk.", "Use ---, +++ and @@ lines.")
    paths = [file.path for file in files]
    if len(set(paths)) < len(paths):
        raise Problem("The diff contains a file twice.", "", "Put all its hunks under one --- line.")


def _names(old: str, new: str, at: int) -> FilePatch:
    names = [line[4:].split("\t")[0].strip() for line in (old, new)]
    if any(name.startswith('"') for name in names):
        raise _bad(at, "Quoted file names are not supported.", "Write the name without quotes.")
    old_name, new_name = ("" if name == NO_FILE else name for name in names)
    if all(not name or name.startswith(side) for name, side in ((old_name, "a/"), (new_name, "b/"))):
        old_name, new_name = old_name[2:], new_name[2:]
    if not (old_name or new_name) or (old_name and new_name and old_name != new_name):
        raise _bad(at, "The two names differ.", "Renames are not supported; move files with a command.")
    return FilePatch(old_name, new_name)


def _hunk(lines: list[str], at: int, file: FilePatch) -> int:
    """Parse one hunk into `file` and return the index of the line after it."""
    found = HUNK.match(lines[at])
    if found is None:
        raise _bad(at, "The @@ line is invalid.", "Write it as @@ -line,count +line,count @@.")
    hunk = PatchHunk(int(found[1]))
    wanted_old, wanted_new = (1 if found[n] is None else int(found[n]) for n in (2, 4))
    opened = at
    at += 1
    while (len(hunk.old), len(hunk.new)) != (wanted_old, wanted_new):
        line = lines[at] if at < len(lines) else None
        if line is None or line[0] not in " +-\\\r\n" or len(hunk.old) > wanted_old or len(hunk.new) > wanted_new:
            raise _bad(opened, "The hunk does not have the counts of its @@ line.", "Correct the counts or the hunk.")
        _take(line, hunk, lines[at - 1])
        at += 1
    if at < len(lines) and lines[at].startswith("\\"):
        _take(lines[at], hunk, lines[at - 1])
        at += 1
    file.hunks.append(hunk)
    return at


def _take(line: str, hunk: PatchHunk, last: str) -> None:
    """Add a line, which follows the line `last`. An empty line counts as context: models omit its space."""
    if line.startswith("\\"):  # "No newline at end of file", about the previous line
        for side, sign in ((hunk.old, "+"), (hunk.new, "-")):
            if side and last[0] != sign:
                side[-1] = side[-1].removesuffix("\n")
        return
    sign, rest = (" ", line) if line[0] in "\r\n" else (line[0], line[1:])
    if not rest.endswith("\n"):
        rest += "\n"
    if sign in " -":
        hunk.old.append(rest)
    if sign in " +":
        hunk.new.append(rest)


def apply_diff(file: FilePatch, text: str) -> str:
    """Return the text after all hunks. Each must match at its line, or else in exactly one other place."""
    lines = split_lines(text)
    shift = next_line = 0
    for number, hunk in enumerate(file.hunks, 1):
        expected = max(hunk.start - 1 if hunk.old else hunk.start, 0) + shift
        at = _place(lines, hunk.old, expected, next_line)
        if at is None:
            excerpt = "".join(hunk.old[:3]).rstrip()
            raise Problem(
                f"Hunk {number} does not apply to {file.path}; nothing was changed.",
                f"Expected near line {hunk.start}:\n{excerpt}",
                "Read the file and make the diff from its current text.",
            )
        lines[at : at + len(hunk.old)] = hunk.new
        shift = at - expected + shift + len(hunk.new) - len(hunk.old)
        next_line = at + len(hunk.new)
    return "".join(lines)


def _place(lines: list[str], old: list[str], expected: int, next_line: int) -> int | None:
    if not old:
        return expected if next_line <= expected <= len(lines) else None
    if expected >= next_line and lines[expected : expected + len(old)] == old:
        return expected
    places = (at for at in range(next_line, len(lines) - len(old) + 1) if lines[at] == old[0])
    fitting = [at for at in places if lines[at : at + len(old)] == old]
    return fitting[0] if len(fitting) == 1 else None


def _bad(at: int, what: str, do: str) -> Problem:
    return Problem(f"Line {at + 1} of the diff: {what}", "", do)
