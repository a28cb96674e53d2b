"""Tests of the guide for developers: its code, added to a copy of the source, works as the guide says."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_house import tracked

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "resources" / "docs" / "extending.md"
BLOCK = re.compile(r"^`([^`\n]+)`\n\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BOUND_S = 600
# The tests that the page runs after adding an importer, of which it has no code.
IMPORTER_TESTS = {"tests/core/exchange/test_importers.py", "tests/ui/test_exchange_in_window.py"}


def changes() -> list[tuple[str, str, str]]:
    """Return the code blocks of the page as (file, language, text)."""
    return BLOCK.findall(PAGE.read_text("utf-8"))


def edited(text: str, change: str) -> str:
    """Return a file's text after applying a diff block of the page."""
    lines = text.split("\n")
    for part in re.split(r"^ ?\n", change, flags=re.MULTILINE):
        old = [line[1:] for line in part.splitlines() if not line.startswith("+")]
        new = [line[1:] for line in part.splitlines() if not line.startswith("-")]
        places = [n for n in range(len(lines)) if lines[n : n + len(old)] == old]
        assert len(places) == 1, f"{old} occurs {len(places)} times"
        lines[places[0] : places[0] + len(old)] = new
    return "\n".join(lines)


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    """Return a copy of the source with the code of the page added."""
    place = tmp_path / "copy"
    for name in tracked():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)
    for name, kind, body in changes():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        assert file.exists() == (kind == "diff"), name
        file.write_text(edited(file.read_text("utf-8"), body) if kind == "diff" else body, "utf-8")
    yield place
    shutil.rmtree(place)


def paths_of_commands() -> set[str]:
    """Return the tests that the commands of the page run."""
    commands = re.findall(r"dev\.py test ([^`]+)`", PAGE.read_text("utf-8"))
    return {path for command in commands for path in command.split()}


def test_the_code_of_the_page_works_and_follows_the_house_rules(copy: Path) -> None:
    paths = sorted(paths_of_commands() - IMPORTER_TESTS)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each process that the tests start compiles all modules
    done = subprocess.run(
        words, cwd=copy, env=environment, capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    styled = [sys.executable, "-m", "ruff", "check", "-q", *(name for name, kind, _ in changes() if kind == "python")]
    assert subprocess.run(styled, cwd=copy, capture_output=True, check=False).returncode == 0


def test_the_tests_that_the_page_runs_exist() -> None:
    added = {name for name, _, _ in changes()}
    for path in paths_of_commands():
        assert (ROOT / path).exists() or any(name.startswith(path) for name in added), path
