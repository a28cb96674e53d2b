"""Finds the command that runs the tests of a folder, and the files that the output of failing tests is about."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePosixPath

from core.domain.problems import Problem
from core.engine.state.conversation import Conversation
from core.models.work_phrases import is_test_file
from core.tools.folder_walk import FolderWalk
from core.tools.run import RUN, runs_command
from core.workspace.broker import FileBroker

MAX_SEARCHED = 500  # number of files among which test files are searched for
MAX_OUTPUT_CHARS = 8_000  # only this much of the end of an output is searched for paths
SCRIPT_SUFFIXES = ("js", "ts", "mjs", "tsx", "jsx")
_PYTHON_TEST = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py")
_UNITTEST = re.compile(rb"^\s*(?:import unittest|from unittest)\b", re.MULTILINE)
_PYTEST = re.compile(rb"^(?:import pytest\b|from pytest\b|(?:async )?def test_)", re.MULTILINE)
# Test commands by the file that marks a project which has them.
_BY_MARKER = {"Cargo.toml": "cargo test", "go.mod": "go test ./..."}
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.[a-z]{1,4}\b")
_PYTHON_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+([\w, \t]+)|import[ \t]+([\w.]+))", re.MULTILINE
)
_SCRIPT_IMPORT = re.compile(r"""(?:from|require\()\s*["'](\.{1,2}/[\w./-]+)["']""")
_NOT_FOUND = re.compile(r"No module named '?pytest|: (?:command )?not found|not recognized as an internal")


def find_test_command(broker: FileBroker) -> str:
    """Return the command that runs all tests of the folder; "" if none is known."""
    if b'"test"' in _contents("package.json", broker) and _has_test_script(broker):
        return "npm test"
    for marker, command in _BY_MARKER.items():
        if _contents(marker, broker):
            return command
    paths = ("/".join(path) for path in islice(FolderWalk(broker.folder).files(), MAX_SEARCHED))
    tests = [_contents(path, broker) for path in paths if _PYTHON_TEST.fullmatch(path)]
    if any(_PYTEST.search(test) for test in tests):
        return "python3 -m pytest -q"
    return "python3 -m unittest" if any(_UNITTEST.search(test) for test in tests) else ""


def is_missing_program(output: str) -> bool:
    """Return whether the output of a test command says that the test program is not installed."""
    return bool(_NOT_FOUND.search(output[-MAX_OUTPUT_CHARS:]))


def first_command(conversation: Conversation, since: int) -> str:
    """Return the command of the first `run` call after `since`; "" if there was none."""
    calls = (call for message in conversation.messages if message.seq > since for call in message.calls)
    first = next((call for call in calls if call.tool == RUN.name), None)
    try:
        return str(json.loads(first.arguments.head)["command"]) if first else ""
    except (ValueError, KeyError, TypeError):
        return ""


def failed_output(conversation: Conversation, command: str, since: int) -> str:
    """Return the output of the last run of a command after `since`; "" if it succeeded or was not run."""
    calls = {call.id: call for message in conversation.messages for call in message.calls}
    for message in reversed(conversation.messages):
        call = calls.get(message.call_id)
        if message.role == "tool" and message.seq > since and call and runs_command(call, command):
            return message.text.head if message.failed else ""
    return ""


def files_of_failure(output: str, broker: FileBroker) -> list[str]:
    """Return the existing files that the output of failing tests names, each followed by the files that it imports."""
    text = output[-MAX_OUTPUT_CHARS:].replace(f"{broker.folder}/", "")
    named = [path for path in dict.fromkeys(_PATH.findall(text)) if _contents(path, broker)]
    found: list[str] = []
    for path in named:
        found += [path, *(imported_files(path, broker) if is_test_file(path) else ())]
    return list(dict.fromkeys(found))


def imported_files(path: str, broker: FileBroker) -> Iterator[str]:
    """Yield the files of the folder that a Python or JavaScript file imports."""
    text = _contents(path, broker).decode("utf-8", "replace")
    folder = PurePosixPath(path).parent
    python_imports = _PYTHON_IMPORT.findall(text) if path.endswith(".py") else []
    for package, names, module in python_imports:
        base = (package or module).strip(".").replace(".", "/")
        submodules = [f"{base}/{name.split()[0]}" for name in names.split(",") if name.strip()]
        for candidate in (base, *submodules):
            if file := _first_file([f"{root}{candidate}.py" for root in ("", "src/", f"{folder}/")], broker):
                yield file
    for target in _SCRIPT_IMPORT.findall(text):
        candidate = _normalized(folder / target)
        if file := _first_file([candidate, *(f"{candidate}.{suffix}" for suffix in SCRIPT_SUFFIXES)], broker):
            yield file


def _first_file(candidates: Iterable[str], broker: FileBroker) -> str:
    """Return the path of the first candidate that is a file; "" if none is."""
    return next((str(PurePosixPath(path)) for path in candidates if _contents(path, broker)), "")


def _normalized(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _has_test_script(broker: FileBroker) -> bool:
    try:
        package = json.loads(_contents("package.json", broker))
        return bool(package["scripts"]["test"])
    except (ValueError, KeyError, TypeError):
        return False


def _contents(path: str, broker: FileBroker) -> bytes:
    """Return the contents of a file; b"" if it is missing, long, or must not be read."""
    try:
        return broker.read_small(path, allow_secrets=False) or b""
    except Problem:
        return b""
