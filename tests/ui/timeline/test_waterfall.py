"""The waterfall chart: bars, zooming and panning, and runs with many rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.steps import Step
from tests.ui.hands import click, find, press
from tests.ui.timeline.session_data import START, MemorySteps, letter_session
from ui.style.theme import Look
from ui.timeline.folds import RowRange
from ui.timeline.waterfall.model import SLICE, ShownRun, WaterfallModel
from ui.timeline.waterfall.panel import WaterfallPanel
from ui.timeline.waterfall.time_scale import ShortenedWaits, TimeRange, TimeScale, elapsed_label
from ui.widgets.check_box import CheckBox


@pytest.fixture
def panel(qtbot: QtBot, look: Look) -> WaterfallPanel:
    made = WaterfallPanel(look, letter_session(), clock=lambda: START + 500 * SECOND)
    qtbot.addWidget(made)
    made.resize(900, 500)
    with qtbot.waitExposed(made):
        made.show()
    made.show_run("s", ShownRun(number=2, run_count=2, rows=RowRange(0, 12)))
    return made


def accessible_texts(panel: WaterfallPanel) -> list[str]:
    model = panel.bars.model()
    return [model.index(place, 0).data() for place in range(model.rowCount())]


def test_messages_and_replies_have_no_bar(panel: WaterfallPanel) -> None:
    said = accessible_texts(panel)
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


@pytest.mark.colors
def test_click_emits_chosen_and_select_row_does_not(panel: WaterfallPanel, qtbot: QtBot) -> None:
    bars = panel.bars
    with qtbot.waitSignal(panel.step_chosen) as told:
        click(bars.viewport(), bars.visualRect(bars.model().index(3, 0)).center())
    assert told.args[0].object.startswith("exiftool")
    with qtbot.assertNotEmitted(panel.step_chosen):
        panel.select_row(5)
    assert bars.currentIndex().row() == 4
    panel.grab()


def test_run_in_progress_grows(panel: WaterfallPanel, qtbot: QtBot, look: Look) -> None:
    rows = MemorySteps()
    rows.add("run", "running", started_at=START, run=1, ended_at=0)
    rows.add("command", "running", object="make", started_at=START + SECOND, ended_at=0)
    bars = WaterfallModel(rows, clock=lambda: START + 9 * SECOND)
    bars.open("s", RowRange(0, 2))
    assert bars.is_running and bars.totals()["tools"] == 8 * SECOND and bars.end_time() == START + 9 * SECOND
    done = rows.rows[1] = rows.rows[1]._replace(status="done", ended_at=START + 3 * SECOND)
    more = rows.add("read", object="a", started_at=START + 4 * SECOND, ended_at=START + 5 * SECOND)
    bars.apply(3, [done, more])
    assert bars.totals() == {"thinking": 0, "tools": 3 * SECOND, "you": 0} and bars.rowCount() == 3
    panel.restyle(look)


def test_long_run_is_read_in_slices(qtbot: QtBot) -> None:
    rows = MemorySteps()
    for _ in range(2 * SLICE + 5):
        rows.add("read", object="a.py")
    bars = WaterfallModel(rows)
    QAbstractItemModelTester(bars, QAbstractItemModelTester.FailureReportingMode.Fatal)
    bars.open("s", RowRange(0, len(rows.rows)))
    assert bars.rowCount() == SLICE and not bars.is_complete
    qtbot.waitUntil(lambda: bars.is_complete)
    assert (
        bars.rowCount() == 2 * SLICE + 5
        and bars.position_of(2 * SLICE + 4) == 2 * SLICE + 4
        and bars.position_of(10**7) is None
    )


def test_ruler_ticks_are_round_numbers() -> None:
    scale = TimeScale(0, 100 * SECOND, 0, 600)
    interval = scale.tick_interval(60)
    ticks = scale.ticks(interval, 0, ShortenedWaits())
    assert interval == 10 * SECOND
    assert [elapsed_label(at, interval) for at in ticks[:3]] == ["0:00", "0:10", "0:20"]
    assert elapsed_label(3_725 * SECOND, 60 * SECOND) == "1:02:05" and elapsed_label(1_500_000, 500_000) == "1.5s"
    close = TimeScale(SECOND, SECOND + 1_000, 0, 600)
    assert close.tick_interval(60) == 1_000 and elapsed_label(61_500_000, 5_000) == "1:01.500"


@given(
    st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 1_000)).map(lambda pair: TimeRange(min(pair), max(pair)))),
    st.integers(0, 50),
)
def test_shortened_waits_keep_the_order_of_moments(waits: list[TimeRange], max_length: int) -> None:
    shortened = ShortenedWaits(waits, max_length)
    times = [shortened.axis_time(at) for at in range(1_001)]
    assert times == sorted(times) and times[-1] == 1_000 - shortened.saved
    assert all(times[end] - times[start] == max_length for start, end in shortened.waits)
    for start, end in shortened.stretches(0, 1_000):
        assert times[end] - times[start] == end - start


def test_ticks_leave_out_a_shortened_wait_and_keep_their_distance() -> None:
    hour = 3_600 * SECOND
    waits = ShortenedWaits([TimeRange(10 * SECOND, 10 * SECOND + hour)], SECOND)
    scale = TimeScale(0, waits.axis_time(hour + 40 * SECOND), 0, 600)
    times = scale.ticks(scale.tick_interval(60), 0, waits)
    assert times[:3] == [0, 5 * SECOND, 10 * SECOND] and times[-1] == hour + 40 * SECOND
    assert not [at for at in times if 10 * SECOND < at < 10 * SECOND + hour]


def step_at(panel: WaterfallPanel, position: int) -> Step:
    model = panel.bars.model()
    step = model.step(position) if isinstance(model, WaterfallModel) else None
    assert step
    return step


def bar_width(panel: WaterfallPanel, position: int) -> float:
    step = step_at(panel, position)
    return panel.bars.x_of(step.ended_at) - panel.bars.x_of(step.started_at)


@pytest.mark.colors
def test_long_waits_are_shortened_on_request(panel: WaterfallPanel, qtbot: QtBot) -> None:
    """The question took 124 s of 176: shortened, the thinking of 6 s gets more than twice the width."""
    shorten = find(panel, CheckBox, "waterfall.shorten")
    assert shorten.isVisible() and shorten.text() == "Shorten long waits"
    thinking, question = 1, 8
    assert step_at(panel, question).kind == "question"
    before = bar_width(panel, thinking)
    click(shorten, QPoint(8, shorten.height() // 2))
    assert bar_width(panel, thinking) > 1.5 * before and bar_width(panel, question) < 3 * before
    assert "2m 04s" in panel.bars.model().index(question, 0).data()  # the duration stays the real one
    panel.grab()
    click(shorten, QPoint(8, shorten.height() // 2))
    assert bar_width(panel, thinking) == pytest.approx(before)


def test_steps_of_another_run_are_not_added(panel: WaterfallPanel) -> None:
    count = panel.bars.model().rowCount()
    panel.apply([Step(row=12, kind="read", status="done", run=3, started_at=START, ended_at=START + 1)])
    assert panel.bars.model().rowCount() == count
    panel.apply([Step(row=12, kind="read", status="done", run=2, started_at=START, ended_at=START + 1)])
    assert panel.bars.model().rowCount() <= count + 1
