"""The table of what the predecessors did is true: its rows have each a test, and files and tests are there."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "resources" / "help" / "predecessors.md"
NO_TEST = re.compile(r"\b(Left out|Not built)\b")


def rows() -> Iterator[list[str]]:
    """Row, what we do, where, test."""
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| Row"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def all_tests() -> set[str]:
    found = (path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in found for name in re.findall(r"def (test_\w+)", text)}


def test_every_row_has_four_cells_and_a_test_or_a_reason() -> None:
    assert len(list(rows())) > 80
    for row in rows():
        assert len(row) == 4, row
        assert named(row[3]) or NO_TEST.search(row[1]), row


def test_every_test_that_is_named_is_there() -> None:
    there = all_tests()
    assert [name for row in rows() for name in named(row[3]) if name not in there] == []


def test_every_file_that_is_named_is_there() -> None:
    missing: list[str] = []
    for row in rows():
        folder = ROOT
        for name in named(row[2]):
            if not re.search(r"\.\w+$", name):
                continue  # a command, not a file
            near = ROOT / name if "/" in name else folder / name
            folder = near.parent
            if not near.is_file():
                missing.append(name)
    assert missing == []
