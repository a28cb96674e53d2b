"""At 200% text, the details of a step are opened from its row, and closed again, in the real window."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QToolButton

from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, live, until
from ui.style.theme import Look, load_fonts, load_theme
from ui.timeline.timeline_model import TimelineModel
from ui.timeline.timeline_view import TimelineView

WRITE = {"name": "write", "arguments": {"path": "work.py", "content": "a = 1\nb = 2\n"}}
SCRIPT = json.dumps({"replies": [{"calls": [WRITE]}, {"text": "Done."}]})


async def open_session(person: Person, size: tuple[int, int]) -> TimelineView:
    """Show a finished session with 200% text, without its step pane."""
    window = person.window
    session = await person.start(SCRIPT)()
    await until(lambda: window.row(session).runs and window.row(session).status == "done", "its end")
    window.show_session(session)
    window.restyle(Look(load_theme("light"), load_fonts(2.0)))
    person.shell.resize(*size)
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
    view = window.view.page.view
    await until(lambda: view.replies.shown and window.pane.isHidden(), "the answer alone")
    view.setFocus()
    view.select_row(row_of(view, "write"))
    return view


def row_of(view: TimelineView, kind: str) -> int:
    model = view.model()
    assert isinstance(model, TimelineModel)
    steps = [model.step_at(position) for position in range(model.rowCount())]
    return next(step.row for step in steps if step and step.kind == kind)


def middle_of(view: TimelineView) -> QPoint:
    return view.visualRect(view.model().index(view.selected_position, 0)).center()


def by_enter(view: TimelineView) -> None:
    press(view, Qt.Key.Key_Return)


def by_double_click(view: TimelineView) -> None:
    view.setCurrentIndex(view.model().index(0, 0))
    view.select_row(row_of(view, "write"))
    click(view.viewport(), middle_of(view))
    QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, middle_of(view))


def by_menu(view: TimelineView) -> None:
    at = middle_of(view)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, view.viewport().mapToGlobal(at))
    QApplication.sendEvent(view.viewport(), event)
    menu = view.window().findChild(QMenu, "row.menu")
    assert menu is not None
    action = menu.findChild(QAction, "row.menu.details")
    assert action is not None and action.text() == "Show details"
    action.trigger()
    menu.close()


@pytest.mark.parametrize("way", [by_enter, by_double_click, by_menu])
def test_a_row_opens_its_details_beside_the_steps(
    qapp: QApplication, home: Path, way: Callable[[TimelineView], None]
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        view = await open_session(person, (1280, 800))
        assert window.sessions.isVisible()
        way(view)
        await until(window.pane.isVisible, "the details")
        assert view.isVisible() and window.sessions.isHidden()
        click(find(window.pane, QToolButton, "step.fold"))
        assert window.pane.isHidden() and window.sessions.isVisible()

    live(qapp, home, act)


def test_in_a_small_window_the_details_take_the_place_of_the_steps_until_the_user_goes_back(
    qapp: QApplication, home: Path
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        view = await open_session(person, (900, 600))
        back = find(window.pane, QToolButton, "step.fold")
        ways: list[Callable[[], None]] = [
            lambda: click(back),
            lambda: press(person.shell.focusWidget(), Qt.Key.Key_Escape),
            window.actions_by_id["window.step"].trigger,
            window.actions_by_id["composer.focus"].trigger,
        ]
        for leave in ways:
            view.setFocus()
            press(view, Qt.Key.Key_Return)
            await until(lambda: window.pane.isVisible() and not view.isVisible(), "the details alone")
            assert window.pane.isAncestorOf(person.shell.focusWidget())
            assert back.toolTip() == "Back to the steps (Esc or Q)"
            leave()
            await until(lambda: window.pane.isHidden() and view.isVisible(), "the steps alone")
        assert window.view.composer.isAncestorOf(person.shell.focusWidget())

    live(qapp, home, act)
