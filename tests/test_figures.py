"""Tests of the page of benchmark results: its contents, and that the committed page covers every benchmark."""

from datetime import date

import pytest

from tests.bench.__main__ import BENCHES, main
from tests.bench.benchmark import Benchmark, Measurement
from tests.bench.results_page import PAGE, render_page


def test_the_page_lists_results_goals_and_predecessors() -> None:
    loop = next(bench for bench in BENCHES if bench.name == "loop")
    other = Benchmark("other", "something else", lambda: iter(()))
    slow = Measurement("100 turns", {"ms": 1234.5, "ratio": 2.0}, "ratio ≤ 1.5", passed=False)
    text = render_page(
        {loop: [slow, Measurement("note", {"runs": 1_000})], other: [Measurement("a", {"s": 0.5}, "≤ 1 s")]},
        date(2030, 1, 2),
    )
    assert "on 02 January 2030" in text and "Goals: 1 met, 1 missed: 100 turns." in text
    assert "| 100 turns | ms 1,234, ratio 2 | ratio ≤ 1.5: **missed** |" in text
    assert "| a | s 0.5 | ≤ 1 s: met |" in text and "| note | runs 1,000 |  |" in text
    assert "dev.py bench loop" in text and "| power-loop 8.0.0 |" in text and text.count("Predecessors, ") == 1


@pytest.mark.skipif(not PAGE.exists(), reason="`dev.py bench --write` creates the page, on an idle machine")
def test_the_committed_page_covers_every_benchmark() -> None:
    text = PAGE.read_text("utf-8")
    assert [bench.name for bench in BENCHES if f"dev.py bench {bench.name}`" not in text] == []


def test_the_page_is_not_written_for_some_benchmarks_only() -> None:
    assert main(["stop", "--write"]) == 2
