"""Parses unified diffs strictly and applies them, either completely or not at all."""

import re
from dataclasses import dataclass, field

from core.domain.problems import Problem

HUNK = re.compile(r"@@ -(?P<start>\d{1,9})(?:,(?P<old_count>\d{1,9}))? \+\d{1,9}(?:,(?P<new_count>\d{1,9}))? @@")
NO_FILE = "/dev/null"
UNSUPPORTED = ("GIT binary patch", "Binary files ", "rename from ", "rename to ", "copy from ", "copy to ")


@dataclass(slots=True)
class PatchHunk:
    """A hunk of a diff. `start` is the number of its first line in the old text, from 1. Lines keep their endings."""

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
    index = 0
    while index < len(lines):
        line = lines[index].rstrip("\r\n")
        if line.startswith(UNSUPPORTED):
            raise _problem_at(
                index, "Renames and binary files are not supported.", "Patch contents; move files with a command."
            )
        if line.startswith("--- ") and index + 1 < len(lines) and lines[index + 1].startswith("+++ "):
            files.append(_parse_names(line, lines[index + 1].rstrip("\r\n"), index))
            index += 2
        elif line.startswith("@@"):
            if not files:
                raise _problem_at(index, "A hunk comes before any file.", "Start with --- and +++ lines.")
            index = _parse_hunk(lines, index, files[-1])
        elif line.startswith(("+", "-", " ")) and line != "-- " and files and files[-1].hunks:
            raise _problem_at(index, "A hunk is longer than its @@ line says.", "Correct the counts in the @@ line.")
        else:
            index += 1
    _check_files(files)
    return files


def split_lines(text: str) -> list[str]:
    """Split a text into lines with their endings; only a line feed ends a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _check_files(files: list[FilePatch]) -> None:
    if not files or not all(file.hunks for file in files):
        raise Problem("This is not a unified diff.", "It has no file or no hunk.", "Use ---, +++ and @@ lines.")
    paths = [file.path for file in files]
    if len(set(paths)) < len(paths):
        raise Problem("The diff contains a file twice.", "", "Put all its hunks under one --- line.")


def _parse_names(old: str, new: str, index: int) -> FilePatch:
    old_name, new_name = _parse_name(old.removeprefix("--- "), index), _parse_name(new.removeprefix("+++ "), index)
    if (not old_name or old_name.startswith("a/")) and (not new_name or new_name.startswith("b/")):
        old_name, new_name = old_name.removeprefix("a/"), new_name.removeprefix("b/")
    if not (old_name or new_name) or (old_name and new_name and old_name != new_name):
        raise _problem_at(index, "The two names differ.", "Renames are not supported; move files with a command.")
    return FilePatch(old_name, new_name)


def _parse_name(text: str, index: int) -> str:
    """Return the name in a --- or +++ line, which a time stamp may follow; "" for NO_FILE."""
    name = text.split("\t")[0].strip()
    if name.startswith('"'):
        raise _problem_at(index, "Quoted file names are not supported.", "Write the name without quotes.")
    return "" if name == NO_FILE else name


def _parse_hunk(lines: list[str], index: int, file: FilePatch) -> int:
    """Parse one hunk into `file` and return the index of the line after it."""
    match = HUNK.match(lines[index])
    if match is None:
        raise _problem_at(index, "The @@ line is invalid.", "Write it as @@ -line,count +line,count @@.")
    hunk = PatchHunk(int(match["start"]))
    old_count, new_count = int(match["old_count"] or 1), int(match["new_count"] or 1)
    header_index = index
    index += 1
    while (len(hunk.old), len(hunk.new)) != (old_count, new_count):
        line = lines[index] if index < len(lines) else None
        if line is None or line[0] not in " +-\\\r\n" or len(hunk.old) > old_count or len(hunk.new) > new_count:
            raise _problem_at(
                header_index, "The hunk does not have the counts of its @@ line.", "Correct the counts or the hunk."
            )
        _add_line(line, hunk, lines[index - 1])
        index += 1
    if index < len(lines) and lines[index].startswith("\\"):
        _add_line(lines[index], hunk, lines[index - 1])
        index += 1
    file.hunks.append(hunk)
    return index


def _add_line(line: str, hunk: PatchHunk, previous: str) -> None:
    """Add a line of the diff to the hunk. `previous` is the line before it.

    A line without any character counts as an empty context line, because models omit the space before it.
    """
    if line.startswith("\\"):  # `\ No newline at end of file` refers to the previous line.
        for side, sign in ((hunk.old, "+"), (hunk.new, "-")):
            if side and previous[0] != sign:
                side[-1] = side[-1].removesuffix("\n")
        return
    sign, text = (" ", line) if line[0] in "\r\n" else (line[0], line[1:])
    if not text.endswith("\n"):
        text += "\n"
    if sign in " -":
        hunk.old.append(text)
    if sign in " +":
        hunk.new.append(text)


def apply_diff(file: FilePatch, text: str) -> str:
    """Return the text after all hunks. Each must match at its line, or else in exactly one other place."""
    lines = split_lines(text)
    shift = next_line = 0
    for number, hunk in enumerate(file.hunks, 1):
        first = hunk.start - 1 if hunk.old else hunk.start  # A hunk without old lines gives the line before it.
        expected = max(first, 0) + shift
        index = _position(lines, hunk.old, expected, next_line)
        if index is None:
            excerpt = "".join(hunk.old[:3]).rstrip()
            raise Problem(
                f"Hunk {number} does not apply to {file.path}; nothing was changed.",
                f"Expected near line {hunk.start}:\n{excerpt}",
                "Read the file and make the diff from its current text.",
            )
        lines[index : index + len(hunk.old)] = hunk.new
        shift = index - expected + shift + len(hunk.new) - len(hunk.old)
        next_line = index + len(hunk.new)
    return "".join(lines)


def _position(lines: list[str], old: list[str], expected: int, next_line: int) -> int | None:
    """Return the index of the lines `old` in `lines`: `expected`, or the only match from `next_line` on; else None."""
    if not old:
        return expected if next_line <= expected <= len(lines) else None
    if expected >= next_line and lines[expected : expected + len(old)] == old:
        return expected
    candidates = (index for index in range(next_line, len(lines) - len(old) + 1) if lines[index] == old[0])
    fitting = [index for index in candidates if lines[index : index + len(old)] == old]
    return fitting[0] if len(fitting) == 1 else None


def _problem_at(index: int, message: str, fix: str) -> Problem:
    return Problem(f"Line {index + 1} of the diff: {message}", "", fix)
