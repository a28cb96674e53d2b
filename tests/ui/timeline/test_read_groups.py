"""Three or more consecutive reads are one row until the user expands them."""

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.steps import Step
from tests.ui.hands import click, press
from tests.ui.timeline.session_data import START, MemorySteps
from ui.base.step_presentation import badges
from ui.style.theme import Look
from ui.timeline.read_groups import ReadGroups, summarize_group
from ui.timeline.step_pages import PAGE_SIZE
from ui.timeline.timeline_model import TimelineModel
from ui.timeline.timeline_view import TimelineView


def reads(count: int, names: str = "abcdefghij") -> MemorySteps:
    rows = MemorySteps()
    rows.add("user", text="Go on")
    rows.add("run")
    rows.add("thinking", object="I look", number=1)
    for number in range(count):
        name = f"src/{names[number % len(names)]}.py"
        rows.add("read", object=name, number=2 + number, metrics={"bytes": 10}, ended_at=START + (4 + number) * SECOND)
    rows.add("command", object="make", number=2 + count)
    return rows


def open_view(qtbot: QtBot, look: Look, rows: MemorySteps) -> TimelineView:
    model = TimelineModel(rows, clock=lambda: START)
    view = TimelineView(model, look)
    qtbot.addWidget(view)
    view.resize(800, 500)
    model.open("s", len(rows.rows))
    with qtbot.waitExposed(view):
        view.show()
    view.update_layout()
    return view


def heights(view: TimelineView) -> list[bool]:
    return [view.rowHeight(place) > 0 for place in range(view.model().rowCount())]


def test_only_three_or_more_reads_are_grouped(qtbot: QtBot, look: Look) -> None:
    assert all(heights(open_view(qtbot, look, reads(2))))
    view = open_view(qtbot, look, reads(5))
    assert heights(view) == [True, True, True, True, False, False, False, False, True]
    text = str(view.model().index(3, 0).data())
    assert text.startswith("Step 2: Read 5 files: a.py, b.py, +3, 50 bytes") and text.endswith(", collapsed")


def test_failed_read_has_no_size() -> None:
    """The bytes of a failed read are those of its error message."""
    read = Step(0, "read", "done", START, metrics={"bytes": 70})
    assert [badge.text for badge in badges(read)] == ["70 bytes"]
    assert badges(read._replace(status="failed")) == []


def test_click_expands_and_click_on_the_arrow_collapses(qtbot: QtBot, look: Look) -> None:
    view = open_view(qtbot, look, reads(4))
    middle = view.rowViewportPosition(3) + 10
    click(view.viewport(), QPoint(200, middle))
    view.update_layout()
    assert all(heights(view)) and view.currentIndex().row() == 3
    assert str(view.model().index(3, 0).data()).endswith("expanded")
    click(view.viewport(), QPoint(200, middle))
    view.update_layout()
    assert all(heights(view))
    click(view.viewport(), QPoint(view.viewport().width() - 30, middle))
    view.update_layout()
    assert heights(view).count(False) == 3


def test_keys_skip_collapsed_rows_and_enter_expands_them(qtbot: QtBot, look: Look) -> None:
    view = open_view(qtbot, look, reads(4))
    view.select(3)
    press(view, Qt.Key.Key_J)
    assert view.currentIndex().row() == 7
    press(view, Qt.Key.Key_K)
    assert view.currentIndex().row() == 3
    press(view, Qt.Key.Key_Return)
    press(view, Qt.Key.Key_J)
    assert view.currentIndex().row() == 4
    press(view, Qt.Key.Key_K)
    press(view, Qt.Key.Key_Return)
    assert heights(view).count(False) == 3


def test_selecting_a_hidden_row_expands_its_group(qtbot: QtBot, look: Look) -> None:
    view = open_view(qtbot, look, reads(6))
    view.select_row(6)
    view.update_layout()
    assert all(heights(view)) and view.currentIndex().row() == 6


def test_new_read_joins_the_group(qtbot: QtBot, look: Look) -> None:
    rows = reads(3)
    rows.rows.pop()
    view = open_view(qtbot, look, rows)
    model = view.model()
    assert isinstance(model, TimelineModel)
    going = rows.add("read", "running", object="big.py", number=9)
    model.apply([going])
    view.update_layout()
    assert view.rowHeight(6) > 0
    rows.rows[6] = going._replace(status="done")
    model.apply([rows.rows[6]])
    view.update_layout()
    assert view.rowHeight(6) == 0 and "4 files" in str(model.index(3, 0).data())


@pytest.mark.parametrize(
    ("names", "summarized"),
    [
        (["a.py", "b.py", "c.py"], "3 files: a.py, b.py, +1"),
        (["x/a.py", "y/b.py", "x/a.py"], "2 files: a.py, b.py"),
        (["a.py", "a.py", "a.py"], "a.py, 3 times"),
    ],
)
def test_summary_names_the_files(names: list[str], summarized: str) -> None:
    steps = [Step(row, "read", "done", START, object=name) for row, name in enumerate(names)]
    assert summarize_group(steps).object == summarized


def test_no_group_spans_pages() -> None:
    steps = [Step(row, "read", "done", START) for row in range(2 * PAGE_SIZE)]
    likes = ReadGroups(lambda number: steps[number * PAGE_SIZE : (number + 1) * PAGE_SIZE])
    assert (
        not likes.is_hidden(0)
        and likes.is_hidden(PAGE_SIZE - 1)
        and not likes.is_hidden(PAGE_SIZE)
        and likes.is_hidden(PAGE_SIZE + 1)
    )


def test_failed_or_untrusted_reads_are_not_grouped() -> None:
    steps = [Step(row, "read", "done", START) for row in range(7)]
    steps[3] = steps[3]._replace(status="failed")
    likes = ReadGroups(lambda _: steps)
    assert [likes.is_hidden(row) for row in range(7)] == [False, True, True, False, False, True, True]
    steps[1] = steps[1]._replace(metrics={"untrusted": 1})
    likes.invalidate([1])
    assert not any(likes.is_hidden(row) for row in range(4))
