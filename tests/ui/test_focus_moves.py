"""When the widget with the focus is hidden, no other widget gets the focus, and is read aloud, in between."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtWidgets import QAbstractButton, QApplication, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import find
from tests.ui.test_desktop_app import ASKS, Person, activate, live, until
from ui.base.window_state import WindowState
from ui.shell.window_frame import WindowFrame
from ui.style.theme import load_theme


@contextmanager
def focus_recorded(app: QApplication) -> Iterator[list[str]]:
    """Record the object names of the widgets that get the focus."""
    names = list[str]()

    def record(_old: QWidget | None, new: QWidget | None) -> None:
        names.append(new.objectName() if new else "")

    app.focusChanged.connect(record)
    try:
        yield names
    finally:
        app.focusChanged.disconnect(record)


def focused_name(window: QWidget) -> str:
    focused: QWidget | None = window.focusWidget()
    return focused.objectName() if focused is not None else ""


def test_the_focus_moves_directly_to_where_it_belongs(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, shell = person.window, person.shell
        window.show_session(session := await person.start(ASKS)())
        await until(person.card, "the card")
        await activate(window)
        window.view.page.focus_tab()
        steps = shell.focusWidget().objectName()
        window.actions_by_id["run.find"].trigger()
        words = find(window, QWidget, "run.find.words")
        await until(words.hasFocus, "the find bar")
        with focus_recorded(qapp) as focused:
            find(window, QAbstractButton, "run.find.close").click()
            await until(lambda: focused_name(shell) == steps, "the steps")
            assert focused == [steps]
            focused.clear()
            window.actions_by_id["run.new"].trigger()
            await until(lambda: any(name.startswith("start") for name in focused), "the start page")
            assert next(filter(None, focused)).startswith("start")
            window.actions_by_id["page.overview"].trigger()
            await until(lambda: focused_name(shell) == "page.overview", "the page")
            focused.clear()
            window.show_session(session)
            await until(lambda: focused_name(shell) == steps, "the steps again")
            assert [name for name in focused if name] == [steps]

    live(qapp, home, act)


def test_the_focus_goes_on_if_nothing_takes_it(qtbot: QtBot, tmp_path: Path) -> None:
    window = WindowFrame(load_theme("light"), WindowState(tmp_path))
    qtbot.addWidget(window)
    content = QWidget()
    column = QVBoxLayout(content)
    buttons = [QPushButton(name) for name in ("first", "second", "third")]
    for button in buttons:
        column.addWidget(button)
    window.set_content(content)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    buttons[0].setFocus()
    buttons[0].hide()
    qtbot.waitUntil(buttons[1].hasFocus)
    buttons[1].setEnabled(False)
    qtbot.waitUntil(buttons[2].hasFocus)
