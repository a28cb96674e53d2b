"""The language of the project: no banned word in source, help, prompts or README; every pattern can fail."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.language import ALLOWED, BANS, PATTERNS, Finding, Text, findings, fits, texts

ROOT = Path(__file__).resolve().parent.parent
LEGITIMATE = (
    "Seconds of wall clock and of CPU time.",
    "The HTTP server answers with status 404; a key of the dictionary is missing.",
    "In fact, each memory holds facts about the project.",
    "The round trip takes 3 ms, rounded down, and the buttons are round-robin.",
    "This is no longer needed; there is no server with that name.",
    "The letter A stands for any letter.",
    "Because of it, the file is part of it.",
    "Use the wire protocol. On the wire, the request is JSON.",
    "The axis has round values. Qt rounds fractions of a pixel.",
    "Set the API key of a provider.",
    "{%- set count = count + 1 %}",
    "Restore the backup. Revert the file. The setting is 55% of the width.",
    "Import…",
    "Press Ctrl+N to start a new session.",
    "The user is asked for approval.",
)
PYTHON = '''"""A module docstring."""

NAME = "stored_key"
QUERY = "SELECT told FROM walls"
PATTERN = r"\\bwalls\\b is no"
LABEL = "New run"


def total(count: int) -> str:  # a trailing comment
    """A function docstring."""
    return f"{count} rounds"
'''


@pytest.fixture(scope="module")
def found() -> list[Finding]:
    """Every banned word in the project."""
    return [finding for path in checked_files() for text in read(path) for finding in findings(text)]


def checked_files() -> list[str]:
    """Return the files of the project: those git knows or would add, or without git all files."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard"]
    if (ROOT / ".git").exists() and shutil.which("git"):
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return [name for name in dict.fromkeys(answer.stdout.splitlines()) if (ROOT / name).is_file()]
    files = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file())
    return [name for name in files if "__pycache__" not in name and not name.startswith(".")]


def read(path: str) -> list[Text]:
    """Return the texts of a file; none for files that are neither Python nor a page."""
    if not path.endswith((".py", ".md", ".json")):
        return []
    return list(texts(path, (ROOT / path).read_text("utf-8")))


@pytest.mark.parametrize("name", BANS)
def test_no_text_uses_a_banned_word(name: str, found: list[Finding]) -> None:
    lines = [str(finding) for finding in found if finding.ban == name]
    assert not lines, f"{len(lines)} uses of a banned word; tests/language.py says what to use instead:\n" + "\n".join(
        lines
    )


@pytest.mark.parametrize("name", BANS)
def test_a_pattern_finds_its_sample(name: str) -> None:
    sample = Text("core/sample.py", 1, "comment", BANS[name].sample)
    (finding, *_) = [each for each in findings(sample) if each.ban == name]
    assert str(finding).startswith(f"core/sample.py:1: {finding.match!r}: use {BANS[name].instead}: ")


@pytest.mark.parametrize("sentence", LEGITIMATE)
def test_legitimate_uses_pass(sentence: str) -> None:
    assert [str(finding) for finding in findings(Text("core/sample.py", 1, "comment", sentence))] == []


def test_comments_docstrings_and_prose_literals_are_read_but_not_names_sql_or_regexes() -> None:
    found = Counter((text.kind, text.text) for text in texts("core/sample.py", PYTHON))
    assert set(found) == {
        ("comment", "a trailing comment"),
        ("docstring", "A module docstring."),
        ("docstring", "A function docstring."),
        ("literal", "New run"),
        ("literal", " rounds"),
    }


def test_pages_are_read_by_line_and_other_files_not_at_all() -> None:
    assert [text.line for text in texts("resources/help/a.md", "# One\n\nTwo")] == [1, 2, 3]
    assert list(texts("resources/icons/a.md", "x")) == list(texts("tests/golden/a.py", "'A b'")) == []


def test_the_line_of_a_finding_is_that_of_the_word() -> None:
    (finding,) = findings(Text("app/sample.py", 7, "docstring", "One.\n\n    Behind the walls.\n"))
    assert (finding.line, finding.ban) == (9, "walls")


def test_an_exception_allows_only_its_word_path_and_text() -> None:
    allowed = ALLOWED[0]
    assert fits(allowed, allowed.ban, "tests/bench/window.py", "The photo of wall 7")
    assert not fits(allowed, "round", "tests/bench/window.py", "The photo of wall 7")
    assert not fits(allowed, allowed.ban, "core/a.py", "The photo of wall 7")
    assert not fits(allowed, allowed.ban, "tests/bench/window.py", "Behind the wall")
    assert all(exception.ban in PATTERNS and exception.reason for exception in ALLOWED)
