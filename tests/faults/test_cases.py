"""Checks that every case of the fault suite names existing tests."""

import re
from pathlib import Path

from tests.faults.cases import CASES

ROOT = Path(__file__).parents[2]
ALL = {f"C{n}" for n in range(1, 22)} | {f"F{n}" for n in range(1, 21)} | {f"K{n}" for n in range(1, 12)}


def test_every_case_is_shown() -> None:
    assert set(CASES) == ALL | {"M1-M28", "S7"}


def test_every_test_of_a_case_exists() -> None:
    for places in CASES.values():
        for place in places:
            path, _, name = place.partition("::")
            assert not name or re.search(rf"^(?:async )?def {name}\(", (ROOT / path).read_text("utf-8"), re.M), place
