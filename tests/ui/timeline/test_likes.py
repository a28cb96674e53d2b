"""Three or more like reads are one row until a person opens them."""

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from core.domain.steps import Step
from tests.ui.hands import click, press
from tests.ui.timeline.journals import START, ListedRows
from ui.looks import badges
from ui.theme import Look
from ui.timeline.likes import Likes, summary
from ui.timeline.model import TimelineModel
from ui.timeline.pages import PAGE
from ui.timeline.view import TimelineView


def reads(count: int, names: str = "abcdefghij") -> ListedRows:
    rows = ListedRows()
    rows.add("person", said="Go on")
    rows.add("run")
    rows.add("thinking", object="I look", number=1)
    for number in range(count):
        name = f"src/{names[number % len(names)]}.py"
        rows.add("read", object=name, number=2 + number, marks={"bytes": 10}, ended=START + (4 + number) * SECOND)
    rows.add("command", object="make", number=2 + count)
    return rows


def shown(qtbot: QtBot, look: Look, rows: ListedRows) -> TimelineView:
    model = TimelineModel(rows, clock=lambda: START)
    view = TimelineView(model, look)
    qtbot.addWidget(view)
    view.resize(800, 500)
    model.open("s", len(rows.rows))
    with qtbot.waitExposed(view):
        view.show()
    view.settle()
    return view


def heights(view: TimelineView) -> list[bool]:
    return [view.rowHeight(place) > 0 for place in range(view.model().rowCount())]


def test_two_stay_apart_and_three_are_one(qtbot: QtBot, look: Look) -> None:
    assert all(heights(shown(qtbot, look, reads(2))))
    view = shown(qtbot, look, reads(5))
    assert heights(view) == [True, True, True, True, False, False, False, False, True]
    said = str(view.model().index(3, 0).data())
    assert said.startswith("Step 2: Read 5 files: a.py, b.py, +3, 50 bytes") and said.endswith(", closed")


def test_what_could_not_be_read_has_no_size() -> None:
    """The bytes that came back are those of the reason."""
    read = Step(0, "read", "done", START, marks={"bytes": 70})
    assert [badge.text for badge in badges(read)] == ["70 bytes"]
    assert badges(read._replace(status="failed")) == []


def test_a_click_opens_and_a_click_on_the_arrow_closes(qtbot: QtBot, look: Look) -> None:
    view = shown(qtbot, look, reads(4))
    middle = view.rowViewportPosition(3) + 10
    click(view.viewport(), QPoint(200, middle))
    view.settle()
    assert all(heights(view)) and view.currentIndex().row() == 3
    assert str(view.model().index(3, 0).data()).endswith("open")
    click(view.viewport(), QPoint(200, middle))
    view.settle()
    assert all(heights(view))
    click(view.viewport(), QPoint(view.viewport().width() - 30, middle))
    view.settle()
    assert heights(view).count(False) == 3


def test_keys_go_over_what_is_closed_and_enter_opens_it(qtbot: QtBot, look: Look) -> None:
    view = shown(qtbot, look, reads(4))
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


def test_who_goes_to_a_hidden_row_sees_it(qtbot: QtBot, look: Look) -> None:
    view = shown(qtbot, look, reads(6))
    view.select_row(6)
    view.settle()
    assert all(heights(view)) and view.currentIndex().row() == 6


def test_a_read_that_follows_joins_the_others(qtbot: QtBot, look: Look) -> None:
    rows = reads(3)
    rows.rows.pop()
    view = shown(qtbot, look, rows)
    model = view.model()
    assert isinstance(model, TimelineModel)
    going = rows.add("read", "running", object="big.py", number=9)
    model.apply([going])
    view.settle()
    assert view.rowHeight(6) > 0
    rows.rows[6] = going._replace(status="done")
    model.apply([rows.rows[6]])
    view.settle()
    assert view.rowHeight(6) == 0 and "4 files" in str(model.index(3, 0).data())


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a.py", "b.py", "c.py"], "3 files: a.py, b.py, +1"),
        (["x/a.py", "y/b.py", "x/a.py"], "2 files: a.py, b.py"),
        (["a.py", "a.py", "a.py"], "a.py, 3 times"),
    ],
)
def test_the_row_names_what_it_stands_for(names: list[str], said: str) -> None:
    steps = [Step(row, "read", "done", START, object=name) for row, name in enumerate(names)]
    assert summary(steps).object == said


def test_no_group_reaches_over_a_page() -> None:
    steps = [Step(row, "read", "done", START) for row in range(2 * PAGE)]
    likes = Likes(lambda number: steps[number * PAGE : (number + 1) * PAGE])
    assert not likes.hides(0) and likes.hides(PAGE - 1) and not likes.hides(PAGE) and likes.hides(PAGE + 1)


def test_what_failed_or_came_from_outside_stands_by_itself() -> None:
    steps = [Step(row, "read", "done", START) for row in range(7)]
    steps[3] = steps[3]._replace(status="failed")
    likes = Likes(lambda _: steps)
    assert [likes.hides(row) for row in range(7)] == [False, True, True, False, False, True, True]
    steps[1] = steps[1]._replace(marks={"outside": 1})
    likes.forget([1])
    assert not any(likes.hides(row) for row in range(4))
