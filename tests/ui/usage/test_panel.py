"""The Usage page: totals, plot, table, CSV export and empty states."""

import asyncio
import csv
import io
from collections.abc import Awaitable, Callable, Coroutine
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from core.domain.problems import ErrorDetails, Problem
from core.store.usage import UsageRow
from core.timeline.usage_totals import group_usage
from tests.ui.hands import click, find, press
from ui.base.tasks import UndoAction
from ui.style.theme import Look
from ui.usage.bars import make_bars, ranked_models, ticks
from ui.usage.formatting import OTHER_MODELS
from ui.usage.panel import UsagePanel
from ui.usage.plot import UsagePlot
from ui.usage.table import UsageModel, UsageTable

NOON = 1_763_812_800_000_000  # 22 November 2025
ROWS = (
    UsageRow("2025-11-20", "a/big", "/x", 3, 900, 100, 50, 1.5, 0, 3_000_000),
    UsageRow("2025-11-22", "a/big", "/x", 1, 90, 10, 0, 0.5, 0, 1_000_000),
    UsageRow("2025-11-22", "b/small", "/y", 2, 40, 10, 0, 0.0, 2, 2_000_000),
)


class Silent:
    """A bridge without an engine; the tests set the figures directly."""

    async def ask(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        raise LookupError


class Recorder:
    def __init__(self) -> None:
        self.told: list[ErrorDetails] = []
        self.said: list[str] = []
        self.asked = 0

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        """Run an export; close any other work, which would need an engine."""
        self.asked += 1
        if name != "export the usage":
            work.close()
            return
        try:
            asyncio.run(work)
        except Problem as problem:
            self.told.append(problem.details)

    def say(self, text: str, undo: UndoAction | None = None) -> None:
        self.said.append(text)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def panel(look: Look, qtbot: QtBot, recorder: Recorder) -> UsagePanel:
    made = UsagePanel(
        look=look,
        bridge=Silent(),
        start_task=recorder.start,
        show_toast=recorder.say,
        clock=lambda: NOON,
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
    click(find(panel, QPushButton, "usage.by.model"))
    model = find(panel, UsageTable, "usage.table").model()
    shown = [[model.index(row, column).data() for column in (0, 5)] for row in range(model.rowCount())]
    assert shown == [["a/big", "$2.00"], ["b/small", "unknown"]]
    panel.show_used(ROWS[2:])
    click(find(panel, QPushButton, "usage.measure.cost"))
    assert find(panel, QLabel, "usage.unknown").isVisible() and not find(panel, UsagePlot, "usage.plot").isVisible()


def test_tokens_that_an_agent_does_not_report_are_unknown_and_not_0(panel: UsagePanel) -> None:
    panel.show_used([UsageRow("2025-11-22", "agent/codex", "/x", 2, 0, 0, 0, 0.0, 2, 1_000_000)])
    model = find(panel, UsageTable, "usage.table").model()
    texts = [model.index(0, column).data() for column in range(1, 5)]
    assert texts == ["2", "unknown", "unknown", "unknown"]
    assert "tokens unknown" in words(panel, "usage.figures")
    assert "does not report" in model.index(0, 2).data(Qt.ItemDataRole.ToolTipRole)


def test_the_value_under_the_pointer_or_cursor_is_exact(panel: UsagePanel) -> None:
    plot = find(panel, UsagePlot, "usage.plot")
    press(plot, Qt.Key.Key_Left)
    assert plot.accessible_text() == "Saturday, 22 November 2025 150 tokens, a/big 100 tokens, b/small 50 tokens"
    press(plot, Qt.Key.Key_Left)
    press(plot, Qt.Key.Key_Left)
    assert "20 November 2025 1.0k tokens" in plot.accessible_text()
    QTest.mouseMove(plot, QPoint(plot.width() - 6, 60))
    assert plot.bar_at(plot.width() - 6) == 29
    plot.point_at(29)
    click(find(panel, QPushButton, "usage.measure.time"))
    assert plot.accessible_text() == ""
    press(plot, Qt.Key.Key_Left)
    assert "3.0s" in plot.accessible_text()


def test_other_periods_are_requested_and_an_empty_one_is_stated(panel: UsagePanel, recorder: Recorder) -> None:
    click(find(panel, QPushButton, "usage.range.all"))
    assert recorder.asked == 1
    panel.show_used(())
    assert "Start a session" in words(panel, "usage.empty")
    assert not find(panel, QPushButton, "usage.export").isEnabled()
    assert not find(panel, UsageTable, "usage.table").isVisible()


def test_usage_is_exported_and_a_write_error_is_shown(panel: UsagePanel, recorder: Recorder, tmp_path: Path) -> None:
    panel.write(str(tmp_path / "use.csv"))
    lines = list(csv.DictReader(io.StringIO((tmp_path / "use.csv").read_text("utf-8"))))
    assert [line["cost_usd"] for line in lines] == ["1.500000", "0.500000", ""] and len(recorder.said) == 1
    panel.write(str(tmp_path / "none" / "use.csv"))
    assert len(recorder.told) == 1 and "none" in recorder.told[0].message


def test_days_without_usage_have_a_bar_slot_and_many_days_share_one() -> None:
    models = ranked_models(ROWS, "tokens")
    assert models == ["a/big", "b/small"]
    days = make_bars(ROWS, date(2025, 11, 19), date(2025, 11, 22), 10, models)
    assert [bar.whole.tokens for bar in days] == [0, 1000, 0, 150]
    weeks = make_bars(ROWS, date(2025, 11, 1), date(2025, 11, 22), 10, models)
    assert sum(bar.whole.tokens for bar in weeks) == 1150 and len(weeks) == 4
    assert weeks[-1].last == "2025-11-22"


def test_models_beyond_the_colors_share_one() -> None:
    rows = [UsageRow("2025-11-22", f"m/{n}", "/x", 1, 100 - n, 0) for n in range(9)]
    models = ranked_models(rows, "tokens")
    assert models[-1] == OTHER_MODELS and len(models) == 6
    (bar,) = make_bars(rows, date(2025, 11, 22), date(2025, 11, 22), 10, models)
    assert sum(part.tokens for part in bar.parts) == bar.whole.tokens == sum(row.tokens for row in rows)


@pytest.mark.parametrize("highest", [0.0, 0.0004, 0.7, 3.0, 999.0, 12_345_678.0])
def test_the_scale_reaches_the_highest_in_a_few_steps(highest: float) -> None:
    for measure in ("tokens", "cost", "time"):
        marks = ticks(highest, measure)
        assert marks[0] == 0 and marks[-1] >= highest and len(marks) <= 6


def test_the_model_of_the_table_passes_the_model_tester(qtmodeltester: Any) -> None:
    model = UsageModel()
    model.show_sums(group_usage(ROWS, "model"), "model")
    qtmodeltester.check(model)


def test_headings_are_aligned_with_their_columns(panel: UsagePanel) -> None:
    panel.show_used([UsageRow("2025-11-22", "Model", "/x", 3, 900, 100, 50, 1.5, 0, 3_000_000)])
    click(find(panel, QPushButton, "usage.by.model"))
    table = find(panel, UsageTable, "usage.table")
    header = table.horizontalHeader()

    def left_edge(widget: QWidget, rect: QRect) -> int:
        image = widget.grab(rect).toImage()
        ground = image.pixel(0, 4)
        return next(x for x in range(rect.width()) for y in range(4, rect.height() - 4) if image.pixel(x, y) != ground)

    heading = left_edge(header, QRect(0, 0, header.sectionSize(0), header.height()))
    cell = left_edge(table.viewport(), table.visualRect(table.model().index(0, 0)))
    assert abs(heading - cell) <= 1
