"""Search the files of the folder for a pattern: with ripgrep where it is installed, else with a program of ours."""

import asyncio
import contextlib
import json
import os
import posixpath
import re
import shutil
import signal
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.globs import LONGEST, matches, parts_of
from core.domain.problems import Problem
from core.domain.sensitive import is_secret
from core.tools.find import folder_of
from core.tools.place import Place
from core.tools.says import Says
from core.tools.tool import Result, Tool
from core.tools.walk import Walk, shown
from core.workspace.broker import Broker

HITS = 200
LINE = 400
OUTPUT = 1 << 20
FILE_SIZE = 8 << 20
SECONDS = 20.0
SEARCHERS = 2
PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class Search:
    pattern: Annotated[str, MinLen(1), MaxLen(LONGEST), Says("A regular expression, for one line.")]
    path: Annotated[str, Says("The folder or file to look in; the whole folder when left out.")] = "."
    glob: Annotated[str, MaxLen(LONGEST), Says("Only files with such names, for example *.py")] = ""


@dataclass(slots=True)
class Found:
    """Lines as path, number and text, and why there may be more."""

    lines: list[tuple[str, int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    real: dict[str, str] = field(default_factory=dict)  # names as the system has them


async def run(parameters: Search, place: Place) -> Result:
    return await search(parameters, place, shutil.which("rg"))


async def search(parameters: Search, place: Place, ripgrep: str | None) -> Result:
    try:
        re.compile(parameters.pattern)
    except re.error as error:
        raise Problem("The pattern is no regular expression.", f"{error}.", "Escape signs that are meant.") from error
    found = Found()
    root, paths, cut = await asyncio.to_thread(_files, parameters, place)
    if cut:
        found.notes.append(cut)
    if paths:
        program = [ripgrep] if ripgrep else []
        shares = [paths[n::SEARCHERS] for n in range(SEARCHERS)] if len(paths) > 200 else [paths]
        async with asyncio.TaskGroup() as tasks:
            for share in shares:
                tasks.create_task(_look(program, parameters.pattern, root, share, found))
        if program:  # it opens by path, and a folder on the way may have become a link
            found.lines = await asyncio.to_thread(_confirmed, found, place.broker)
    return _told(found)


def _start(name: str, place: Place) -> tuple[tuple[str, ...], str]:
    """The folder to walk, and the one file of it that is meant, if so."""
    found = place.broker.look(name)
    if found is not None and stat.S_ISREG(found.st_mode):
        return folder_of(posixpath.dirname(name) or ".", place), posixpath.basename(name)
    if found is None or not stat.S_ISDIR(found.st_mode):
        raise Problem(f"There is no file or folder {name}.", "", "Name one that exists.")
    return folder_of(name, place), ""


def _files(parameters: Search, place: Place) -> tuple[Path, list[tuple[str, ...]], str]:
    """What is searched, from which root, and why not all, if so: never a file that holds keys."""
    start, only = _start(parameters.path, place)
    root = place.folder.resolve()
    if only:
        path = (*start, only)
        return root, [] if is_secret("/".join(path)) else [path], ""
    walk, pattern = Walk(root), parts_of(parameters.glob) if parameters.glob else ("**",)
    kept = [path for path in walk.files(start) if matches(pattern, path[len(start) :])]
    return root, [path for path in kept if not is_secret("/".join(path))], walk.cut


async def _look(program: list[str], pattern: str, root: Path, paths: Sequence[tuple[str, ...]], found: Found) -> None:
    if program:
        await _with_ripgrep(program[0], pattern, root, paths, found)
    else:
        ours = [sys.executable, "-IS", str(Path(__file__).with_name("searcher.py"))]
        asked = {"pattern": pattern, "root": str(root), "hits": HITS + 1, "size": FILE_SIZE, "line": LINE * 4}
        names = b"\0".join(os.fsencode("/".join(path)) for path in paths)
        output, ended = await _bounded(ours, json.dumps(asked).encode() + b"\n" + names, root)
        _collect(output, ended, found)


async def _with_ripgrep(ripgrep: str, pattern: str, root: Path, paths: Sequence[tuple[str, ...]], found: Found) -> None:
    """The same files, by the same list: what is ignored or secret is decided here, once."""
    options = ["--no-config", "--encoding=none", "--no-messages", "--crlf", "--no-ignore", "--hidden",
               "--color=never", "--no-heading", "--null", "--with-filename", "--line-number", "--threads=1",
               f"--max-filesize={FILE_SIZE}", f"--max-count={HITS + 1}", "--max-columns=2000",
               "--max-columns-preview"]  # fmt: skip
    for batch in _batches(["/".join(path) for path in paths]):
        command = [ripgrep, *options, f"--regexp={pattern}", "--", *batch]
        output, ended = await _bounded(command, b"", root)
        _collect(output, ended, found)
        if ended or len(found.lines) > HITS:
            return


def _confirmed(found: Found, broker: Broker) -> list[tuple[str, int, str]]:
    """The lines that stand there, as the broker reads them."""
    kept: list[tuple[str, int, str]] = []
    for name in {name for name, _, _ in found.lines}:
        try:
            body = broker.read(found.real[name], FILE_SIZE, keys=False).split(b"\n")
        except Problem:
            continue
        for _, number, words in (line for line in found.lines if line[0] == name):
            if number <= len(body) and _clear(body[number - 1]).startswith(words.removesuffix("…")):
                kept.append((name, number, words))
    return kept


def _clear(text: bytes) -> str:
    return text.decode("utf-8", "replace").rstrip("\r")


def _batches(names: list[str], most: int = 100_000) -> list[list[str]]:
    """Names in groups that fit on a command line."""
    batches: list[list[str]] = [[]]
    size = 0
    for name in names:
        if size + len(name.encode("utf-8", "surrogateescape")) > most or len(batches[-1]) >= 2_000:
            batches.append([])
            size = 0
        batches[-1].append(f"./{name}")
        size += len(name.encode("utf-8", "surrogateescape")) + 3
    return batches


async def _bounded(command: list[str], text: bytes, folder: Path) -> tuple[bytes, str]:
    """What a program prints, up to a size and a time; then it is killed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={name: os.environ[name] for name in PASSED if name in os.environ},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    kept = bytearray()
    ended = "stopped"
    try:
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(_feed(process, text))
            ended = await _take(process, kept)
    except TimeoutError:
        ended = f"stopped after {SECONDS:g} s: the pattern is slow, or the folder large"
    finally:
        if ended:
            _kill(process)
        await process.wait()
        await _drain(process)
    return bytes(kept), ended


async def _take(process: asyncio.subprocess.Process, kept: bytearray) -> str:
    assert process.stdout is not None
    while piece := await process.stdout.read(65_536):
        kept += piece
        if len(kept) > OUTPUT:
            _kill(process)
            return f"stopped after {OUTPUT >> 20} MB of hits"
    return ""


async def _feed(process: asyncio.subprocess.Process, text: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(text)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        return  # it had found enough before it had read all


async def _drain(process: asyncio.subprocess.Process) -> None:
    """Read to the end, so that the pipe is closed."""
    assert process.stdout is not None
    while await process.stdout.read(65_536):
        pass


def _kill(process: asyncio.subprocess.Process) -> None:
    """Not by `process.kill`, which reaps a child that has just ended, and then asyncio misses it."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.kill(process.pid, signal.SIGKILL)


def _collect(output: bytes, ended: str, found: Found) -> None:
    for line in output.split(b"\n"):
        path, zero, rest = line.partition(b"\0")
        number, parted, text = rest.replace(b":", b"\0", 1).partition(b"\0") if zero else (b"", b"", b"")
        if parted and number.isdigit():
            name = shown(tuple(os.fsdecode(path).removeprefix("./").split("/")))
            words = _clear(text)
            found.real[name] = os.fsdecode(path).removeprefix("./")
            found.lines.append((name, int(number), words[:LINE] + ("…" if len(words) > LINE else "")))
    if ended and ended not in found.notes:
        found.notes.append(ended)


def _told(found: Found) -> Result:
    lines = [f"{name}:{number}: {words}" for name, number, words in sorted(found.lines)]
    if len(lines) > HITS:
        found.notes.insert(0, f"only the first {HITS} hits are shown")
    if not lines:
        found.notes.insert(0, "nothing found")
    notes = [f"[{'; '.join(found.notes)}]"] if found.notes else []
    return Result("\n".join(lines[:HITS] + notes))


SEARCH = Tool(
    name="search",
    description="Find lines of the folder's files by a regular expression. What .gitignore names is left out.",
    parameters=Search,
    kind="search",
    touches="reads",
    object=lambda p: p.pattern if p.path in ("", ".") else f"{p.pattern} in {p.path}",
    run=run,
)
