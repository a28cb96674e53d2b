"""Every `journeyman` command that a text of the product names can be typed."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.arguments import parser

ROOT = Path(__file__).parents[2]
FILES = [path for name in ("app", "core", "ui") for path in sorted((ROOT / name).rglob("*.py"))]
NAMED = re.compile(r"\bjourneyman ((?:[a-z]+ ?)+)((?:[^\n`”]*?)(?=$|[`”]))", re.MULTILINE)
OPTION = re.compile(r"(?<!\S)(--[a-z-]+)")


def named(path: Path) -> Iterator[tuple[int, list[str], str]]:
    """The lowercase words that follow `journeyman` in each string of a file, and the rest of the text."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for found in NAMED.finditer(node.value):
                yield node.lineno, found[1].split(), found[2]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_a_text_exists(path: Path) -> None:
    for line, words, rest in named(path):
        command, place = parser(), f"{path.relative_to(ROOT)}:{line}: journeyman {' '.join(words)}"
        for word in words:
            if not command.commands:
                break
            assert word in command.commands, place
            command = command.commands[word]
        known = {name for action in command._actions for name in action.option_strings}
        options = [name for name in OPTION.findall(f" {rest}") if not command.commands]
        assert set(options) <= known, f"{place}{rest}"
