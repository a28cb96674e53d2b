"""At 200% text, the details of a step are opened from its row, and closed again, in the real window."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QToolButton

from core.domain.events import RunStarted
from core.domain.steps import Step
from core.domain.text import Text
from core.models.catalog import SCRIPTED
from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, live, until
from ui.style.theme import Look, load_fonts, load_theme
from ui.timeline.output_tab import FittedTextView
from ui.timeline.step_pane import StepPane
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
    await until(lambda: view.replies.shown and window.step_pane.isHidden(), "the answer alone")
    view.setFocus()
    view.select_row(row_of(view, "write"))
    return view


def steps_of(model: TimelineModel) -> list[Step]:
    return [step for position in range(model.rowCount()) if (step := model.step_at(position))]


def row_of(view: TimelineView, kind: str) -> int:
    model = view.model()
    assert isinstance(model, TimelineModel)
    return next(step.row for step in steps_of(model) if step.kind == kind)


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
        await until(window.step_pane.isVisible, "the details")
        assert view.isVisible() and window.sessions.isHidden()
        click(find(window.step_pane, QToolButton, "step.fold"))
        assert window.step_pane.isHidden() and window.sessions.isVisible()
        way(view)
        await until(window.step_pane.isVisible, "the details again")
        press(view, Qt.Key.Key_Escape)
        assert window.step_pane.isHidden() and window.sessions.isVisible()

    live(qapp, home, act)


def test_in_a_small_window_the_details_take_the_place_of_the_steps_until_the_user_goes_back(
    qapp: QApplication, home: Path
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        view = await open_session(person, (900, 600))
        back = find(window.step_pane, QToolButton, "step.fold")
        ways: list[Callable[[], None]] = [
            lambda: click(back),
            lambda: press(person.shell.focusWidget(), Qt.Key.Key_Escape),
            window.actions_by_id["window.step"].trigger,
            window.actions_by_id["composer.focus"].trigger,
        ]
        for leave in ways:
            view.setFocus()
            press(view, Qt.Key.Key_Return)
            await until(lambda: window.step_pane.isVisible() and not view.isVisible(), "the details alone")
            assert window.step_pane.isAncestorOf(person.shell.focusWidget())
            assert back.toolTip() == "Back to the steps (Esc or Q)"
            leave()
            await until(lambda: window.step_pane.isHidden() and view.isVisible(), "the steps alone")
        assert window.view.composer.isAncestorOf(person.shell.focusWidget())

    live(qapp, home, act)


def shown_facts(pane: StepPane) -> str:
    texts = (part.toPlainText() for part in pane.findChildren(FittedTextView) if part.isVisible())
    return "\n".join(texts)


@pytest.mark.parametrize("opened_before", [True, False])
def test_the_details_of_a_denied_call_do_not_wait_any_more(qapp: QApplication, home: Path, opened_before: bool) -> None:
    async def act(person: Person) -> None:
        window, pane, folder = person.window, person.window.step_pane, person.home / "work"
        folder.mkdir()
        person.shell.resize(1600, 900)
        started = RunStarted(SCRIPTED, script=Text(SCRIPT), mode="ask")
        session = await person.program.engine.ask(lambda engine: engine.start("Write it", folder, started))
        window.show_session(session)
        toggle = window.actions_by_id["window.step"]
        await until(pane.isVisible, "the step pane")
        if not opened_before:
            toggle.trigger()
        card = await until(lambda: window.view.asking.card, "the request")
        model = window.view.page.model
        call = await until(lambda: next((s for s in steps_of(model) if s.status == "waiting"), None), "the call")
        window.view.page.select_row(call.row)
        if opened_before:
            await until(lambda: "waiting for you" in shown_facts(pane), "the open call")
            toggle.trigger()
        assert pane.isHidden()
        deny = find(card, QPushButton, "consent.deny")
        click(deny)
        click(deny)
        await until(lambda: window.row(session).status == "done", "the end")
        toggle.trigger()
        await until(lambda: "denied" in shown_facts(pane), "what happened to the call")
        assert "waiting for you" not in shown_facts(pane)
        window.restyle(Look(load_theme("light"), load_fonts(1.5)))
        assert "waiting for you" not in shown_facts(pane)

    live(qapp, home, act)
