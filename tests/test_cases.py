"""The catalog of attacks and faults: each case has a test that has its number in its name or parameters."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CASES = {
    "P": range(1, 18),  # paths that lead out of the folder
    "T": range(1, 22),  # tools and commands that misbehave
    "I": (1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 22),  # prompt injection in untrusted content
    "S": (1, 2, 3, 4, 5, 6, 8, 9),  # API keys and secrets
    "K": (1, 2, 3, 4, 7, 9, 10, 11),  # concurrency
    "M": range(1, 29),  # providers
    "U": range(1, 15),  # text that imitates the user interface
}
# Tests whose cases are the keys of a table by which they are parametrized.
TABLES = {
    "core/engine/test_cases_paths.py": ("LAID", "PROTECTED"),
    "core/engine/test_cases_commands.py": ("CASES",),
    "core/engine/test_model_faults.py": ("BROKEN",),
    "core/engine/test_prompt_injection.py": ("ORDERS",),
}


def covered_cases() -> Iterator[tuple[str, Path, str]]:
    """Yield every case that a test covers, the file, and the test or the table in it."""
    for path in HERE.rglob("test_*.py"):
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text("utf-8"), re.MULTILINE):
            yield from ((found.upper(), path, name) for found in re.findall(r"_([ptiskmuPTISKMU]\d{1,2})(?=_|$)", name))
    for file, tables in TABLES.items():
        path = HERE / file
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Name) and target.id in tables and isinstance(value := node.value, ast.Dict):  # type: ignore[attr-defined]
                keys = [str(key.value) for key in value.keys if isinstance(key, ast.Constant)]
                yield from ((key.split()[0], path, target.id) for key in keys)


@pytest.mark.parametrize("kind", sorted(CASES))
def test_each_case_has_a_test(kind: str) -> None:
    found = {case for case, _, _ in covered_cases()}
    assert [f"{kind}{number}" for number in CASES[kind] if f"{kind}{number}" not in found] == []
