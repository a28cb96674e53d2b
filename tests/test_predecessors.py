"""The comparison with the predecessors is complete: it has every feature and defect, and its files and tests exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "resources" / "docs" / "predecessors.md"
ROWS = (
    *(f"P{n}" for n in range(1, 43)), *(f"L{n}" for n in range(1, 37)), *(f"V{n}" for n in range(1, 13)),
    *(f"A{n}" for n in range(6, 39)), "A1", "A2", *(f"H{n}" for n in range(1, 11)), *(f"N{n}" for n in range(1, 11)),
    *(f"X{n}" for n in range(1, 8)),
)  # fmt: skip
DEFECTS = (
    *(f"B{n}" for n in range(1, 11)), *(f"L-B{n}" for n in range(1, 14)), *(f"V-B{n}" for n in range(1, 9)),
    *(f"A-B{n}" for n in range(1, 12)),
)  # fmt: skip
NO_TEST = re.compile(r"\b(Left out|Not built)\b")


def rows() -> Iterator[list[str]]:
    """Yield the cells of each row: predecessor, our solution, files, tests."""
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| Row"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def all_tests() -> set[str]:
    found = (path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in found for name in re.findall(r"def (test_\w+)", text)}


def descriptions() -> Iterator[str]:
    """Yield the name and docstring of each test."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{node.name} {ast.get_docstring(node) or ''}"


def test_no_row_is_missing() -> None:
    there = {name for row in rows() for name in re.findall(r"\b(?:[LVA]-)?[A-Z]\d+\b", row[0])}
    assert [name for name in (*ROWS, *DEFECTS) if name not in there] == []


def test_each_defect_has_a_test() -> None:
    tests = list(descriptions())

    def shown(defect: str) -> bool:
        name = re.compile(rf"(?<![VLA]_)_{defect.replace('-', '_')}_|(?<![-\w]){defect}(?!\d)")
        return any(name.search(each) for each in tests)

    assert [defect for defect in DEFECTS if not shown(defect)] == []


def test_every_row_has_four_cells_and_a_test_or_a_reason() -> None:
    assert len(list(rows())) > 80
    for row in rows():
        assert len(row) == 4, row
        assert named(row[3]) or NO_TEST.search(row[1]), row


def test_every_named_test_exists() -> None:
    there = all_tests()
    assert [name for row in rows() for name in named(row[3]) if name not in there] == []


def test_every_named_file_exists() -> None:
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
