"""The `search` tool: grep the files of the folder, with ripgrep if it is installed, else with `searcher.py`."""

import asyncio
import contextlib
import json
import os
import posixpath
import re
import signal
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.globs import MAX_LENGTH, matches, pattern_parts
from core.domain.problems import Problem
from core.domain.sensitive_paths import is_secret
from core.tools.find import resolve_folder
from core.tools.folder_walk import FolderWalk, printable_path
from core.tools.parameter_description import ParameterDescription
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext
from core.workspace.broker import FileBroker
from core.workspace.program_search import find_program

MAX_MATCHES = 200
LINE = 400
OUTPUT = 1 << 20
FILE_SIZE = 8 << 20
SECONDS = 20.0
PROCESSES = 2
PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class SearchArguments:
    pattern: Annotated[
        str, MinLen(1), MaxLen(MAX_LENGTH), ParameterDescription("Regular expression, matched per line.")
    ]
    path: Annotated[str, ParameterDescription("Folder or file to search; default: all.")] = "."
    glob: Annotated[str, MaxLen(MAX_LENGTH), ParameterDescription("Only files that match, such as *.py")] = ""


@dataclass(slots=True)
class SearchMatches:
    """Matching lines as path, number and text, and notes on why there may be more."""

    lines: list[tuple[str, int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    file_names: dict[str, str] = field(default_factory=dict)  # printable names to the names in the file system


async def run(parameters: SearchArguments, context: ToolContext) -> ToolResult:
    return await search(parameters, context, find_program("rg", context.folder))


async def search(parameters: SearchArguments, context: ToolContext, ripgrep: str | None) -> ToolResult:
    try:
        re.compile(parameters.pattern)
    except re.error as error:
        message, fix = "The pattern is not a valid regular expression.", "Escape literal characters."
        raise Problem(message, f"{error}.", fix) from error
    results = SearchMatches()
    root, paths, incomplete = await asyncio.to_thread(_files, parameters, context)
    if incomplete:
        results.notes.append(incomplete)
    if paths:
        program = [ripgrep] if ripgrep else []
        shares = [paths[n::PROCESSES] for n in range(PROCESSES)] if len(paths) > 200 else [paths]
        async with asyncio.TaskGroup() as tasks:
            for share in shares:
                tasks.create_task(_run_search(program, parameters.pattern, root, share, results))
        if program:  # ripgrep opens files by path, in which a folder may have been replaced by a link
            results.lines = await asyncio.to_thread(_confirmed, results, context.broker)
    return _result_of(results)


def _search_root(name: str, context: ToolContext) -> tuple[tuple[str, ...], str]:
    """Return the folder to walk, and the name of the only file to search in it; "" for all."""
    status = context.broker.stat(name)
    if status is not None and stat.S_ISREG(status.st_mode):
        return resolve_folder(posixpath.dirname(name) or ".", context), posixpath.basename(name)
    if status is None or not stat.S_ISDIR(status.st_mode):
        raise Problem(f"There is no file or folder {name}.", "", "Use one that exists.")
    return resolve_folder(name, context), ""


def _files(parameters: SearchArguments, context: ToolContext) -> tuple[Path, list[tuple[str, ...]], str]:
    """Return the root, the files to search, and why the list is incomplete; "" if it is not.

    Files with secrets are never searched.
    """
    start, file_name = _search_root(parameters.path, context)
    root = context.folder.resolve()
    if file_name:
        path = (*start, file_name)
        return root, [] if is_secret("/".join(path)) else [path], ""
    walk, pattern = FolderWalk(root), pattern_parts(parameters.glob) if parameters.glob else ("**",)
    paths = [path for path in walk.files(start) if matches(pattern, path[len(start) :])]
    return root, [path for path in paths if not is_secret("/".join(path))], walk.incomplete


async def _run_search(
    program: list[str], pattern: str, root: Path, paths: Sequence[tuple[str, ...]], results: SearchMatches
) -> None:
    if program:
        await _with_ripgrep(program[0], pattern, root, paths, results)
    else:
        command = [sys.executable, "-IS", str(Path(__file__).with_name("searcher.py"))]
        request = {"pattern": pattern, "root": str(root), "hits": MAX_MATCHES + 1, "size": FILE_SIZE, "line": LINE * 4}
        names = b"\0".join(os.fsencode("/".join(path)) for path in paths)
        output, stop_reason = await _run_bounded(command, json.dumps(request).encode() + b"\n" + names, root)
        _collect(output, stop_reason, results)


async def _with_ripgrep(
    ripgrep: str, pattern: str, root: Path, paths: Sequence[tuple[str, ...]], results: SearchMatches
) -> None:
    """Search with ripgrep. It gets a list of files, because which are ignored or secret is decided in one place."""
    options = ["--no-config", "--encoding=none", "--no-messages", "--crlf", "--no-ignore", "--hidden",
               "--color=never", "--no-heading", "--null", "--with-filename", "--line-number", "--threads=1",
               f"--max-filesize={FILE_SIZE}", f"--max-count={MAX_MATCHES + 1}", "--max-columns=2000",
               "--max-columns-preview"]  # fmt: skip
    for batch in _batches(["/".join(path) for path in paths]):
        command = [ripgrep, *options, f"--regexp={pattern}", "--", *batch]
        output, stop_reason = await _run_bounded(command, b"", root)
        _collect(output, stop_reason, results)
        if stop_reason or len(results.lines) > MAX_MATCHES:
            return


def _confirmed(results: SearchMatches, broker: FileBroker) -> list[tuple[str, int, str]]:
    """Return the lines that the file broker also finds: the others may come from outside the folder."""
    confirmed: list[tuple[str, int, str]] = []
    for name in {name for name, _, _ in results.lines}:
        try:
            body = broker.read(results.file_names[name], FILE_SIZE, allow_secrets=False).split(b"\n")
        except Problem:
            continue
        for _, number, text in (line for line in results.lines if line[0] == name):
            if number <= len(body) and _decoded(body[number - 1]).startswith(text.removesuffix("…")):
                confirmed.append((name, number, text))
    return confirmed


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace").rstrip("\r")


def _batches(names: list[str], max_size: int = 100_000) -> list[list[str]]:
    """Divide the names into groups that fit on a command line."""
    batches: list[list[str]] = [[]]
    size = 0
    for name in names:
        if size + len(name.encode("utf-8", "surrogateescape")) > max_size or len(batches[-1]) >= 2_000:
            batches.append([])
            size = 0
        batches[-1].append(f"./{name}")
        size += len(name.encode("utf-8", "surrogateescape")) + 3
    return batches


async def _run_bounded(command: list[str], text: bytes, folder: Path) -> tuple[bytes, str]:
    """Return what a program prints, up to a size and a time, and why it was killed; "" if it was not."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={name: os.environ[name] for name in PASSED if name in os.environ},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output = bytearray()
    stop_reason = "stopped"
    try:
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(_feed(process, text))
            stop_reason = await _read_output(process, output)
    except TimeoutError:
        stop_reason = f"stopped after {SECONDS:g} s: the pattern is slow or the folder is large"
    finally:
        if stop_reason:
            _kill(process)
        await process.wait()
        await _drain(process)
    return bytes(output), stop_reason


async def _read_output(process: asyncio.subprocess.Process, output: bytearray) -> str:
    assert process.stdout is not None
    while chunk := await process.stdout.read(65_536):
        output += chunk
        if len(output) > OUTPUT:
            _kill(process)
            return f"stopped after {OUTPUT >> 20} MB of matches"
    return ""


async def _feed(process: asyncio.subprocess.Process, text: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(text)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        return  # it found enough before it had read everything


async def _drain(process: asyncio.subprocess.Process) -> None:
    # The pipe is closed only once it was read to the end.
    assert process.stdout is not None
    while await process.stdout.read(65_536):
        pass


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a process without `process.kill`, which reaps a child that has just ended, so that asyncio misses it."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.kill(process.pid, signal.SIGKILL)


def _collect(output: bytes, stop_reason: str, results: SearchMatches) -> None:
    for line in output.split(b"\n"):
        path, path_end, remainder = line.partition(b"\0")
        number, number_end, text = remainder.replace(b":", b"\0", 1).partition(b"\0") if path_end else (b"", b"", b"")
        if number_end and number.isdigit():
            name = printable_path(tuple(os.fsdecode(path).removeprefix("./").split("/")))
            decoded = _decoded(text)
            results.file_names[name] = os.fsdecode(path).removeprefix("./")
            results.lines.append((name, int(number), decoded[:LINE] + ("…" if len(decoded) > LINE else "")))
    if stop_reason and stop_reason not in results.notes:
        results.notes.append(stop_reason)


def _result_of(results: SearchMatches) -> ToolResult:
    lines = [f"{name}:{number}: {text}" for name, number, text in sorted(results.lines)]
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
    describe=lambda p: p.pattern if p.path in ("", ".") else f"{p.pattern} in {p.path}",
    run=run,
)
