"""The Timeline tab: bars on a ruler, zoomed and moved by keys, over as many rows as there are."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.steps import Step
from tests.ui.hands import click, find, press
from tests.ui.timeline.journals import START, ListedRows, letter
from ui.theme import Look
from ui.timeline.waterfall.panel import WaterfallPanel
from ui.timeline.waterfall.rows import SLICE, RunBars
from ui.timeline.waterfall.scale import Scale, since


@pytest.fixture
def panel(qtbot: QtBot, look: Look) -> WaterfallPanel:
    made = WaterfallPanel(look, letter(), clock=lambda: START + 500 * SECOND)
    qtbot.addWidget(made)
    made.resize(900, 500)
    with qtbot.waitExposed(made):
        made.show()
    made.show_run("s", 0, 12)
    return made


def spoken(panel: WaterfallPanel) -> list[str]:
    model = panel.bars.model()
    return [model.index(place, 0).data() for place in range(model.rowCount())]


def test_words_have_no_bar(panel: WaterfallPanel) -> None:
    said = spoken(panel)
    assert said[0].startswith("Run 2") and len(said) == 9
    assert not [each for each in said if each.startswith(("You said", "Replied", "End"))]
    assert find(panel, QLabel, "waterfall.totals").accessibleName() == "thinking 6.1s · tools 2.9s · you 2m 04s"


def test_keys_zoom_move_and_fit(panel: WaterfallPanel, qtbot: QtBot) -> None:
    bars = panel.bars
    whole = (bars.scale.start, bars.scale.end)
    assert whole == bars.limits
    press(bars, Qt.Key.Key_W)
    closer = bars.scale
    assert closer.end - closer.start < whole[1] - whole[0]
    press(bars, Qt.Key.Key_D)
    assert bars.scale.start > closer.start and bars.scale.end <= whole[1]
    for _ in range(20):
        press(bars, Qt.Key.Key_D)
    assert bars.scale.end == whole[1]
    for _ in range(9):
        press(bars, Qt.Key.Key_S)
    assert (bars.scale.start, bars.scale.end) == whole
    with qtbot.waitSignal(panel.step_chosen) as told:
        press(bars, Qt.Key.Key_Period)
        press(bars, Qt.Key.Key_Period)
    step = told.args[0]
    assert isinstance(step, Step)
    press(bars, Qt.Key.Key_F)
    assert bars.scale.end - bars.scale.start < (whole[1] - whole[0])
    press(bars, Qt.Key.Key_F)
    assert (bars.scale.start, bars.scale.end) == whole
    press(bars, Qt.Key.Key_Comma)


@pytest.mark.colours
def test_a_click_chooses_and_a_choice_elsewhere_is_silent(panel: WaterfallPanel, qtbot: QtBot) -> None:
    bars = panel.bars
    with qtbot.waitSignal(panel.step_chosen) as told:
        click(bars.viewport(), bars.visualRect(bars.model().index(3, 0)).center())
    assert told.args[0].object.startswith("exiftool")
    with qtbot.assertNotEmitted(panel.step_chosen):
        panel.select_row(5)
    assert bars.currentIndex().row() == 4
    panel.grab()


def test_a_going_run_grows(panel: WaterfallPanel, qtbot: QtBot, look: Look) -> None:
    rows = ListedRows()
    rows.add("run", "running", began=START, run=1, ended=0)
    rows.add("command", "running", object="make", began=START + SECOND, ended=0)
    bars = RunBars(rows, clock=lambda: START + 9 * SECOND)
    bars.open("s", 0, 2)
    assert bars.going and bars.totals()["tools"] == 8 * SECOND and bars.until() == START + 9 * SECOND
    done = rows.rows[1] = rows.rows[1]._replace(status="done", ended=START + 3 * SECOND)
    more = rows.add("read", object="a", began=START + 4 * SECOND, ended=START + 5 * SECOND)
    bars.grow(3, [done, more])
    assert bars.totals() == {"thinking": 0, "tools": 3 * SECOND, "you": 0} and bars.rowCount() == 3
    panel.restyle(look)


def test_a_long_run_comes_in_slices(qtbot: QtBot) -> None:
    rows = ListedRows()
    for _ in range(2 * SLICE + 5):
        rows.add("read", object="a.py")
    bars = RunBars(rows)
    QAbstractItemModelTester(bars, QAbstractItemModelTester.FailureReportingMode.Fatal)
    bars.open("s", 0, len(rows.rows))
    assert bars.rowCount() == SLICE and not bars.complete
    qtbot.waitUntil(lambda: bars.complete)
    assert bars.rowCount() == 2 * SLICE + 5 and bars.place(2 * SLICE + 4) == 2 * SLICE + 4 and bars.place(10**7) is None


def test_marks_of_the_ruler_are_round() -> None:
    scale = Scale(0, 100 * SECOND, 0, 600)
    step = scale.step(60)
    assert step == 10 * SECOND and [since(at, step) for at in scale.ticks(step, 0)[:3]] == ["0:00", "0:10", "0:20"]
    assert since(3_725 * SECOND, 60 * SECOND) == "1:02:05" and since(1_500_000, 500_000) == "1.5s"
    close = Scale(SECOND, SECOND + 1_000, 0, 600)
    assert close.step(60) == 1_000 and since(61_500_000, 5_000) == "1:01.500"
