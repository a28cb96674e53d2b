"""Unified differences: read strictly, applied whole or not at all."""

import re
from dataclasses import dataclass, field

from core.domain.problems import Problem

HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
NO_FILE = "/dev/null"
UNSUPPORTED = ("GIT binary patch", "Binary files ", "rename from ", "rename to ", "copy from ", "copy to ")


@dataclass(slots=True)
class Hunk:
    """`start` is the line of the old text, from 1. Lines keep their ends."""

    start: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FilePatch:
    """`old` or `new` is empty where there was, or will be, no file."""

    old: str
    new: str
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.new or self.old


def parse(text: str) -> list[FilePatch]:
    """The files a difference changes, in its order."""
    lines = split(text)
    files: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at].rstrip("\r\n")
        if line.startswith(UNSUPPORTED):
            raise _bad(at, "Renames and binary files are not patched.", "Patch contents; move files with a command.")
        if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            files.append(_names(line, lines[at + 1].rstrip("\r\n"), at))
            at += 2
        elif line.startswith("@@"):
            if not files:
                raise _bad(at, "A hunk comes before any file.", "Begin with --- and +++ lines.")
            at = _hunk(lines, at, files[-1])
        elif line.startswith(("+", "-", " ")) and line != "-- " and files and files[-1].hunks:
            raise _bad(at, "A hunk is longer than its @@ line says.", "Correct the counts in the @@ line.")
        else:
            at += 1
    _refuse_useless(files)
    return files


def split(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _refuse_useless(files: list[FilePatch]) -> None:
    if not files or not all(file.hunks for file in files):
        raise Problem("That is no unified difference.", "It has no file or no hunk.", "Use ---, +++ and @@ lines.")
    paths = [file.path for file in files]
    if len(set(paths)) < len(paths):
        raise Problem("A file comes twice in the difference.", "", "Put all its hunks under one --- line.")


def _names(old: str, new: str, at: int) -> FilePatch:
    names = [line[4:].split("\t")[0].strip() for line in (old, new)]
    if any(name.startswith('"') for name in names):
        raise _bad(at, "Quoted file names are not read.", "Write the name plainly.")
    old_name, new_name = ("" if name == NO_FILE else name for name in names)
    if all(not name or name.startswith(side) for name, side in ((old_name, "a/"), (new_name, "b/"))):
        old_name, new_name = old_name[2:], new_name[2:]
    if not (old_name or new_name) or (old_name and new_name and old_name != new_name):
        raise _bad(at, "The two names are not one file.", "Renames are not patched; move files with a command.")
    return FilePatch(old_name, new_name)


def _hunk(lines: list[str], at: int, file: FilePatch) -> int:
    """Read one hunk; the place after it."""
    found = HUNK.match(lines[at])
    if found is None:
        raise _bad(at, "The @@ line cannot be read.", "Write it as @@ -line,count +line,count @@.")
    hunk = Hunk(int(found[1]))
    wanted_old, wanted_new = (1 if found[n] is None else int(found[n]) for n in (2, 4))
    opened = at
    at += 1
    while (len(hunk.old), len(hunk.new)) != (wanted_old, wanted_new):
        line = lines[at] if at < len(lines) else None
        if line is None or line[0] not in " +-\\\r\n" or len(hunk.old) > wanted_old or len(hunk.new) > wanted_new:
            raise _bad(opened, "The hunk has other counts than its @@ line.", "Correct the counts, or the hunk.")
        _take(line, hunk, lines[at - 1])
        at += 1
    if at < len(lines) and lines[at].startswith("\\"):
        _take(lines[at], hunk, lines[at - 1])
        at += 1
    file.hunks.append(hunk)
    return at


def _take(line: str, hunk: Hunk, last: str) -> None:
    """A line of a hunk, after the line `last`. A line without any sign is an empty one: models leave the blank out."""
    if line.startswith("\\"):  # "No newline at end of file", of the line before
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


def apply(file: FilePatch, text: str) -> str:
    """The text after every hunk; each must fit exactly, at its line or at the one other place where it stands."""
    lines = split(text)
    shift = done = 0
    for number, hunk in enumerate(file.hunks, 1):
        expected = max(hunk.start - 1 if hunk.old else hunk.start, 0) + shift
        at = _place(lines, hunk.old, expected, done)
        if at is None:
            wanted = "".join(hunk.old[:3]).rstrip()
            raise Problem(
                f"Hunk {number} does not fit {file.path}; nothing was changed.",
                f"This was expected near line {hunk.start}:\n{wanted}",
                "Read the file and make the difference from what stands there.",
            )
        lines[at : at + len(hunk.old)] = hunk.new
        shift = at - expected + shift + len(hunk.new) - len(hunk.old)
        done = at + len(hunk.new)
    return "".join(lines)


def _place(lines: list[str], old: list[str], expected: int, done: int) -> int | None:
    if not old:
        return expected if done <= expected <= len(lines) else None
    if expected >= done and lines[expected : expected + len(old)] == old:
        return expected
    places = (at for at in range(done, len(lines) - len(old) + 1) if lines[at] == old[0])
    fitting = [at for at in places if lines[at : at + len(old)] == old]
    return fitting[0] if len(fitting) == 1 else None


def _bad(at: int, what: str, do: str) -> Problem:
    return Problem(f"Line {at + 1} of the difference: {what}", "", do)
