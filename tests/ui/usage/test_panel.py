"""The page of use: figures, a plot that says what is pointed at, a table, a file; and what it says of nothing."""

import csv
import io
from collections.abc import Awaitable, Callable, Coroutine
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from core.domain.problems import Trouble
from core.store.usage import Used
from core.timeline.spending import grouped
from tests.ui.hands import click, find, press
from ui.theme import Look
from ui.usage.bars import bars, names, ticks
from ui.usage.panel import UsagePanel
from ui.usage.plot import UsagePlot
from ui.usage.table import UsageModel, UsageTable
from ui.usage.words import OTHERS

NOON = 1_763_812_800_000_000  # 22 November 2025
ROWS = (
    Used("2025-11-20", "a/big", "/x", 3, 900, 100, 50, 1.5, 0, 3_000_000),
    Used("2025-11-22", "a/big", "/x", 1, 90, 10, 0, 0.5, 0, 1_000_000),
    Used("2025-11-22", "b/small", "/y", 2, 40, 10, 0, 0.0, 2, 2_000_000),
)


class Silent:
    """Nobody to ask: the figures are given by hand."""

    async def ask(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        raise LookupError


class Heard:
    def __init__(self) -> None:
        self.told: list[Trouble] = []
        self.said: list[str] = []
        self.asked = 0

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        work.close()
        self.asked += 1

    def say(self, text: str, undo: Callable[[], None] | None = None) -> None:
        self.said.append(text)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def panel(look: Look, qtbot: QtBot, heard: Heard) -> UsagePanel:
    made = UsagePanel(
        look=look, bridge=Silent(), start=heard.start, tell=heard.told.append, say=heard.say, clock=lambda: NOON
    )
    qtbot.addWidget(made)
    made.resize(1000, 800)
    made.show()
    made.show_used(ROWS)
    return made


def words(panel: UsagePanel, name: str) -> str:
    return find(panel, QLabel, name).text()


def test_an_unknown_price_is_said_to_be_unknown(panel: UsagePanel) -> None:
    assert "$2.00 + unknown" in words(panel, "usage.figures") and "1.1k tokens" in words(panel, "usage.figures")
    click(find(panel, QToolButton, "usage.by.model"))
    model = find(panel, UsageTable, "usage.table").model()
    shown = [[model.index(row, column).data() for column in (0, 5)] for row in range(model.rowCount())]
    assert shown == [["a/big", "$2.00"], ["b/small", "unknown"]]
    panel.show_used(ROWS[2:])
    click(find(panel, QToolButton, "usage.measure.cost"))
    assert find(panel, QLabel, "usage.unknown").isVisible() and not find(panel, UsagePlot, "usage.plot").isVisible()


def test_what_is_pointed_at_is_said_exactly_by_mouse_and_by_keys(panel: UsagePanel) -> None:
    plot = find(panel, UsagePlot, "usage.plot")
    press(plot, Qt.Key.Key_Left)
    assert plot.said() == "Saturday, 22 November 2025 150 tokens, a/big 100 tokens, b/small 50 tokens"
    press(plot, Qt.Key.Key_Left)
    press(plot, Qt.Key.Key_Left)
    assert "20 November 2025 1.0k tokens" in plot.said()
    QTest.mouseMove(plot, QPoint(plot.width() - 6, 60))
    assert plot.bar_at(plot.width() - 6) == 29
    plot.point_at(29)
    click(find(panel, QToolButton, "usage.measure.time"))
    assert plot.said() == ""
    press(plot, Qt.Key.Key_Left)
    assert "3.0s" in plot.said()


def test_other_days_are_asked_for_and_nothing_is_said_in_words(panel: UsagePanel, heard: Heard) -> None:
    click(find(panel, QToolButton, "usage.range.all"))
    assert heard.asked == 1
    panel.show_used(())
    assert "Start a run" in words(panel, "usage.empty")
    assert not find(panel, QPushButton, "usage.export").isEnabled()
    assert not find(panel, UsageTable, "usage.table").isVisible()


def test_the_figures_go_to_a_file_and_what_cannot_be_written_is_told(
    panel: UsagePanel, heard: Heard, tmp_path: Path
) -> None:
    panel.write(str(tmp_path / "use.csv"))
    lines = list(csv.DictReader(io.StringIO((tmp_path / "use.csv").read_text("utf-8"))))
    assert [line["cost_usd"] for line in lines] == ["1.500000", "0.500000", ""] and len(heard.said) == 1
    panel.write(str(tmp_path / "none" / "use.csv"))
    assert len(heard.told) == 1 and "none" in heard.told[0].what


def test_days_without_use_have_a_place_and_many_days_share_one() -> None:
    models = names(ROWS, "tokens")
    assert models == ["a/big", "b/small"]
    days = bars(ROWS, date(2025, 11, 19), date(2025, 11, 22), 10, models)
    assert [bar.whole.tokens for bar in days] == [0, 1000, 0, 150]
    weeks = bars(ROWS, date(2025, 11, 1), date(2025, 11, 22), 10, models)
    assert sum(bar.whole.tokens for bar in weeks) == 1150 and len(weeks) == 4
    assert weeks[-1].last == "2025-11-22"


def test_models_beyond_the_colours_share_one() -> None:
    rows = [Used("2025-11-22", f"m/{n}", "/x", 1, 100 - n, 0) for n in range(9)]
    models = names(rows, "tokens")
    assert models[-1] == OTHERS and len(models) == 6
    (bar,) = bars(rows, date(2025, 11, 22), date(2025, 11, 22), 10, models)
    assert sum(part.tokens for part in bar.parts) == bar.whole.tokens == sum(row.tokens for row in rows)


@pytest.mark.parametrize("highest", [0.0, 0.0004, 0.7, 3.0, 999.0, 12_345_678.0])
def test_the_scale_reaches_the_highest_in_a_few_steps(highest: float) -> None:
    for measure in ("tokens", "cost", "time"):
        marks = ticks(highest, measure)
        assert marks[0] == 0 and marks[-1] >= highest and len(marks) <= 6


def test_the_model_of_the_table_is_sound(qtmodeltester: Any) -> None:
    model = UsageModel()
    model.show_sums(grouped(ROWS, "model"), "model")
    qtmodeltester.check(model)
