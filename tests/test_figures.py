"""The page of figures: one run, whole, with what was missed in words; and the page that is there holds every bench."""

from datetime import date

import pytest

from tests.bench.__main__ import BENCHES, main
from tests.bench.bench import Bench, Figure
from tests.bench.page import PAGE, page


def test_a_page_says_what_was_wanted_what_was_missed_and_what_others_took() -> None:
    loop = next(bench for bench in BENCHES if bench.name == "loop")
    other = Bench("other", "something else", lambda: iter(()))
    slow = Figure("100 rounds", {"ms": 1234.5, "ratio": 2.0}, "ratio ≤ 1.5", good=False)
    text = page(
        {loop: [slow, Figure("note", {"runs": 1_000})], other: [Figure("a", {"s": 0.5}, "≤ 1 s")]}, date(2030, 1, 2)
    )
    assert "on 02 January 2030" in text and "Goals: 1 met, 1 missed: 100 rounds." in text
    assert "| 100 rounds | ms 1,234, ratio 2 | ratio ≤ 1.5: **missed** |" in text
    assert "| a | s 0.5 | ≤ 1 s: met |" in text and "| note | runs 1,000 |  |" in text
    assert "dev.py bench loop" in text and "| power-loop 8.0.0 |" in text and text.count("Predecessors, ") == 1


@pytest.mark.skipif(not PAGE.exists(), reason="`dev.py bench --write` makes the page, on a quiet machine")
def test_the_page_in_the_help_is_of_every_bench() -> None:
    text = PAGE.read_text("utf-8")
    assert [bench.name for bench in BENCHES if f"dev.py bench {bench.name}`" not in text] == []


def test_the_page_is_never_of_some_benches() -> None:
    assert main(["stop", "--write"]) == 2
