"""The `search` tool: grep the files of the folder, with ripgrep if it is installed, else with `searcher.py`."""

import asyncio
import json
import os
import posixpath
import re
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, NamedTuple

from annotated_types import MaxLen, MinLen

from core.domain.globs import MAX_LENGTH, matches, pattern_parts
from core.domain.problems import Problem
from core.domain.sensitive_paths import is_secret
from core.tools.bounded_process import MAX_OUTPUT, TIMEOUT_S, BoundedOutput, run_bounded
from core.tools.find import described_search, resolve_folder
from core.tools.folder_walk import FolderWalk, printable_path
from core.tools.missing_path import missing_path
from core.tools.parameter_description import ParameterDescription
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.workspace.broker import FileBroker
from core.workspace.program_search import find_program

MAX_MATCHES = 200
MAX_LINE = 400  # a longer matching line is cut off
MAX_FILE_SIZE = 8 << 20  # bytes; larger files are not searched
MAX_NAMED = 3  # names of files in a note; of more, only the number is given
PROCESSES = 2
MIN_SHARED = 200  # files beyond which the search is shared by several processes
MAX_ARGUMENTS = 2_000  # files passed to one ripgrep process
INVALID_PATTERN = 2  # exit code of ripgrep for a pattern that it does not support
# A line that ripgrep prints, or that `searcher.py` prints with a NUL byte in place of the colon.
OUTPUT_LINE = re.compile(rb"(?P<path>[^\0]*)\0(?P<number>\d+)[:\0](?P<text>.*)", re.DOTALL)
LIMIT_NOTES = {
    "time": f"stopped after {TIMEOUT_S:g} s: the pattern is slow or the folder is large",
    "output": f"stopped after {MAX_OUTPUT >> 20} MB of output",
}


@dataclass(frozen=True, slots=True)
class SearchArguments:
    pattern: Annotated[
        str, MinLen(1), MaxLen(MAX_LENGTH), ParameterDescription("Regular expression, matched per line.")
    ]
    path: Annotated[str, ParameterDescription("Folder or file to search; default: all.")] = "."
    glob: Annotated[str, MaxLen(MAX_LENGTH), ParameterDescription("Only files that match, such as *.py")] = ""


# The options of ripgrep, which must not walk the folder: it would also search files with secrets.
RIPGREP_OPTIONS = (
    *("--no-config", "--encoding=none", "--no-messages", "--crlf", "--no-ignore", "--hidden", "--color=never"),
    *("--no-heading", "--null", "--with-filename", "--line-number", "--threads=1", "--max-columns=2000"),
    *("--max-columns-preview", f"--max-filesize={MAX_FILE_SIZE}", f"--max-count={MAX_MATCHES + 1}"),
)


class MatchingLine(NamedTuple):
    """A line that matches: the printable path of its file, its number from 1, and its text, cut off if it is long."""

    path: str
    number: int
    text: str


class _SearchStart(NamedTuple):
    """The folder to search in, and the name of the only file to search there; "" for all."""

    folder: tuple[str, ...]
    file_name: str


class _FilesToSearch(NamedTuple):
    """The paths of files in the resolved workspace `root`, and notes on why others are missing."""

    root: Path
    paths: list[tuple[str, ...]]
    notes: list[str]


@dataclass(slots=True)
class SearchMatches:
    """The matching lines, and notes on why some may be missing."""

    lines: list[MatchingLine] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    file_names: dict[str, str] = field(default_factory=dict)  # printable path → path in the file system


async def run(parameters: SearchArguments, context: ToolContext) -> ToolResult:
    return await search(parameters, context, find_program("rg", context.folder))


async def search(parameters: SearchArguments, context: ToolContext, ripgrep: str | None) -> ToolResult:
    try:
        re.compile(parameters.pattern)
    except re.error as error:
        message, fix = "The pattern is not a valid regular expression.", "Escape literal characters."
        raise Problem(message, f"{error}.", fix) from error
    root, paths, notes = await asyncio.to_thread(_files_to_search, parameters, context)
    results = SearchMatches(notes=notes)
    if paths:
        if ripgrep and not await _understands(ripgrep, parameters.pattern, root):
            ripgrep = None
        processes = PROCESSES if len(paths) > MIN_SHARED else 1
        async with asyncio.TaskGroup() as tasks:
            for number in range(processes):
                share = paths[number::processes]
                tasks.create_task(_run_search(ripgrep, parameters.pattern, root, share, results))
        if ripgrep:  # It opens files by path, so a folder replaced by a link may lead outside.
            results.lines = await asyncio.to_thread(_confirmed, results, context.broker)
    return _result_of(results)


def _search_start(name: str, context: ToolContext) -> _SearchStart:
    """Return where to search, given the path of a folder or file; raise Problem if there is none."""
    status = context.broker.stat(name)
    if status is not None and stat.S_ISREG(status.st_mode):
        return _SearchStart(resolve_folder(posixpath.dirname(name) or ".", context), posixpath.basename(name))
    if status is None or not stat.S_ISDIR(status.st_mode):
        raise missing_path(name, context, "file or folder")
    return _SearchStart(resolve_folder(name, context), file_name="")


def _files_to_search(parameters: SearchArguments, context: ToolContext) -> _FilesToSearch:
    """Return the files to search, never those with secrets."""
    start, file_name = _search_start(parameters.path, context)
    root = context.folder.resolve()
    walk = FolderWalk(root)
    if file_name:
        paths = [(*start, file_name)]
    else:
        pattern = pattern_parts(parameters.glob) if parameters.glob else ("**",)
        paths = [path for path in walk.files(start) if matches(pattern, path[len(start) :])]
    paths = [path for path in paths if not is_secret("/".join(path))]
    large = [path for path in paths if _size(root, path) > MAX_FILE_SIZE]
    notes = [walk.incomplete] if walk.incomplete else []
    if large:
        names = ", ".join(map(printable_path, sorted(large)[:MAX_NAMED]))
        others = f" and {len(large) - MAX_NAMED} more" if len(large) > MAX_NAMED else ""
        reason = f"larger than {MAX_FILE_SIZE >> 20} MiB"
        notes.append(f"not searched, because {reason}: {names}{others}; use grep in a command")
    too_large = set(large)
    return _FilesToSearch(root, [path for path in paths if path not in too_large], notes)


def _size(root: Path, path: tuple[str, ...]) -> int:
    """Return the size of a file in bytes, or 0 if it cannot be determined, as when it was removed meanwhile."""
    try:
        return os.lstat(f"{root}/{'/'.join(path)}").st_size
    except OSError:
        return 0


async def _run_search(
    ripgrep: str | None, pattern: str, root: Path, paths: Sequence[tuple[str, ...]], results: SearchMatches
) -> None:
    if ripgrep:
        await _with_ripgrep(ripgrep, pattern, root, paths, results)
    else:
        command = [sys.executable, "-IS", str(Path(__file__).with_name("searcher.py"))]
        limits = {"max_matches": MAX_MATCHES + 1, "max_file_size": MAX_FILE_SIZE, "max_line": MAX_LINE * 4}
        request = {"pattern": pattern, "root": str(root), **limits}
        names = b"\0".join(os.fsencode("/".join(path)) for path in paths)
        _collect(await run_bounded(command, json.dumps(request).encode() + b"\n" + names, root), results)


async def _understands(ripgrep: str, pattern: str, root: Path) -> bool:
    """Return whether ripgrep supports a pattern. Unlike Python, it has no look-around and no backreferences."""
    checked = await run_bounded([ripgrep, "--no-config", f"--regexp={pattern}", "--", "-"], b"", root)
    return checked.exit_code != INVALID_PATTERN


async def _with_ripgrep(
    ripgrep: str, pattern: str, root: Path, paths: Sequence[tuple[str, ...]], results: SearchMatches
) -> None:
    for batch in _batches(["/".join(path) for path in paths]):
        command = [ripgrep, *RIPGREP_OPTIONS, f"--regexp={pattern}", "--", *batch]
        output = await run_bounded(command, b"", root)
        _collect(output, results)
        if output.stopped_by or len(results.lines) > MAX_MATCHES:
            return


def _confirmed(results: SearchMatches, broker: FileBroker) -> list[MatchingLine]:
    """Return the matching lines that FileBroker also reads. Others may be from outside the folder, through a link."""
    lines_by_path: dict[str, list[MatchingLine]] = {}
    for line in results.lines:
        lines_by_path.setdefault(line.path, []).append(line)
    confirmed: list[MatchingLine] = []
    for path, lines in lines_by_path.items():
        try:
            present = broker.read(results.file_names[path], MAX_FILE_SIZE, allow_secrets=False).split(b"\n")
        except Problem:
            continue
        for line in lines:
            is_present = line.number <= len(present)
            if is_present and _decoded(present[line.number - 1]).startswith(line.text.removesuffix("…")):
                confirmed.append(line)
    return confirmed


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace").rstrip("\r")


def _batches(names: list[str], max_size: int = 100_000) -> list[list[str]]:
    """Divide the names into groups of at most `max_size` bytes and MAX_ARGUMENTS names, to fit on a command line."""
    batches: list[list[str]] = [[]]
    size = 0
    for name in names:
        if size + len(name.encode("utf-8", "surrogateescape")) > max_size or len(batches[-1]) >= MAX_ARGUMENTS:
            batches.append([])
            size = 0
        batches[-1].append(f"./{name}")
        size += len(name.encode("utf-8", "surrogateescape")) + 3
    return batches


def _collect(output: BoundedOutput, results: SearchMatches) -> None:
    """Add the lines that ripgrep or `searcher.py` printed to the results, and a note if it exceeded a limit."""
    for line in output.text.split(b"\n"):
        match = OUTPUT_LINE.fullmatch(line)
        if match is None:
            continue
        file_name = os.fsdecode(match["path"]).removeprefix("./")
        path = printable_path(tuple(file_name.split("/")))
        text = _decoded(match["text"])
        shortened = text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]}…"
        results.file_names[path] = file_name
        results.lines.append(MatchingLine(path, int(match["number"]), shortened))
    note = LIMIT_NOTES.get(output.stopped_by)
    if note and note not in results.notes:
        results.notes.append(note)


def _result_of(results: SearchMatches) -> ToolResult:
    lines = [f"{path}:{number}: {text}" for path, number, text in sorted(results.lines)]
    if len(lines) > MAX_MATCHES:
        results.notes.insert(0, f"only the first {MAX_MATCHES} matches are shown")
    if not lines:
        results.notes.insert(0, "no matches")
    notes = [f"[{'; '.join(results.notes)}]"] if results.notes else []
    return ToolResult("\n".join(lines[:MAX_MATCHES] + notes))


SEARCH = Tool(
    name="search",
    description="Search file contents by a regular expression (grep, ripgrep syntax). Skips what .gitignore excludes.",
    parameters=SearchArguments,
    kind="search",
    access="read",
    describe=lambda parameters: described_search(parameters.pattern, parameters.path),
    run=run,
)
