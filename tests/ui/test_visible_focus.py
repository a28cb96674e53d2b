"""The focused widget looks different from one without the focus, on every screen and after every shortcut."""

from collections.abc import Iterator
from functools import partial
from operator import ne
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QListWidget, QMenu, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from tests.screens.sample_data_folder import make
from tests.screens.screens import screens
from tests.ui.hands import find
from tests.ui.test_desktop_app import Person, activate, live, until
from tests.ui.test_terminal_in_window import has_ended, script
from ui.dialogs.session_import_dialog import FoundTranscript, SessionImportDialog
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.keyboard_focus import VISIBLE_FOCUS, KeyboardFocus

SEEN = 12  # pixels that have to change at least
AROUND = 16  # pixels around a widget in which its frame may be
MOST_STOPS = 90
ALT, CONTROL, NONE = (
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.NoModifier,
)


@pytest.fixture
def keyboard_focus(qapp: QApplication) -> Iterator[None]:
    owner = QObject()
    KeyboardFocus(qapp, owner)
    yield
    delete(owner)


def press_in(window: QWidget, key: Qt.Key, modifier: Qt.KeyboardModifier = NONE) -> None:
    """Press a key as the window system does: the window gets it, and passes it to the focused widget."""
    QTest.keyClick(window.window().windowHandle(), key, modifier)


def picture(part: QWidget) -> QImage:
    window = part.window()
    area = QRect(part.mapTo(window, QPoint()), part.size()).adjusted(-AROUND, -AROUND, AROUND, AROUND)
    return window.grab(area.intersected(window.rect())).toImage().convertToFormat(QImage.Format.Format_RGB32)


def pixels_that_show_the_focus(part: QWidget) -> int:
    """Return how many pixels in and around a focused widget change when it loses the focus.

    The cursor of a text does not count, since it is easily overlooked, and blinks.
    """
    if isinstance(part, QPlainTextEdit):
        part.setCursorWidth(0)
    focused = picture(part)
    part.clearFocus()
    other = picture(part)
    part.setFocus()
    return sum(map(ne, *(memoryview(image.constBits()).cast("I") for image in (focused, other))))


def tab_stops(window: QWidget) -> Iterator[QWidget]:
    """Focus the widgets of a window one after the other with the Tab key."""
    passed: list[QWidget] = []
    while len(passed) < MOST_STOPS:
        press_in(window, Qt.Key.Key_Tab)
        part = QApplication.focusWidget()
        if part is None or part in passed:
            return
        passed.append(part)
        yield part


@pytest.mark.usefixtures("keyboard_focus")
def test_tab_shows_the_focus_on_every_screen(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    make(home := tmp_path / "sample")
    checked, hidden = set[str](), list[str]()
    for name, screen in screens(home, "light", (1440, 900)):
        window = screen.window()
        if isinstance(screen, QMenu):  # a menu marks its current entry
            continue
        with qtbot.waitActive(window):
            window.activateWindow()
        for part in tab_stops(window):
            called = f"{type(part).__name__} {part.objectName() or part.accessibleName()}"
            if called in checked or part.visibleRegion().isEmpty():
                continue
            checked.add(called)
            if pixels_that_show_the_focus(part) < SEEN:
                hidden.append(f"{name}: {called}")
            if QApplication.focusWidget() is not part:  # such as a button that may not be pressed yet
                break
    assert hidden == []
    assert len(checked) > 200


@pytest.mark.usefixtures("keyboard_focus")
def test_the_import_dialog_shows_the_focus(look: Look, qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = SessionImportDialog(look, parent)
    dialog.show_found([FoundTranscript("Codex", f"/w/{number}.jsonl", 9, 9.0) for number in range(3)])
    with qtbot.waitActive(dialog):
        dialog.show()
    press_in(dialog, Qt.Key.Key_Q, CONTROL)
    listed = find(dialog, QListWidget, "import.list")
    assert listed.hasFocus() and pixels_that_show_the_focus(listed) >= SEEN
    shown = {part.objectName(): pixels_that_show_the_focus(part) >= SEEN for part in tab_stops(dialog)}
    assert shown == {"import.list": True, "import.files": True, "import.cancel": True}


@pytest.mark.parametrize("key", [Qt.Key.Key_1, Qt.Key.Key_2, Qt.Key.Key_3, Qt.Key.Key_4, Qt.Key.Key_5, Qt.Key.Key_6])
def test_a_tab_opened_by_its_shortcut_and_the_areas_of_f6_show_the_focus(
    qapp: QApplication, home: Path, key: Qt.Key
) -> None:
    async def act(person: Person) -> None:
        window, shell = person.window, person.shell
        first = await person.start(script("echo one > a"))()
        await until(lambda: has_ended(person, first), "the end")
        second = await person.start(script("echo two > b"))()
        await until(lambda: has_ended(person, second), "the end")
        window.show_session(first)
        window.split_view.show_in_other_pane(second)
        await activate(shell)
        for pressed, modifier in ((key, ALT), (Qt.Key.Key_F6, CONTROL), *[(Qt.Key.Key_F6, NONE)] * 4):
            # Outside of this task, because pressing a key processes the events of other tasks.
            timer = QTimer(shell, singleShot=True)
            timer.timeout.connect(partial(press_in, shell, pressed, modifier))
            timer.start()
            await until(lambda: not timer.isActive(), "the key")  # noqa: B023 - awaited in the loop
            part = await until(shell.focusWidget, "the focus")
            assert pixels_that_show_the_focus(part) >= SEEN, (pressed, modifier, part)

    live(qapp, home, act)


@pytest.mark.usefixtures("keyboard_focus")
def test_the_focus_is_marked_after_a_shortcut_but_not_after_a_click(look: Look, qtbot: QtBot) -> None:
    dialog = QDialog()
    qtbot.addWidget(dialog)
    buttons = [Button(look, name, name=name) for name in ("one", "two")]
    for number, button in enumerate(buttons):
        button.setParent(dialog)
        button.setGeometry(10, 10 + 40 * number, 90, 28)
    with qtbot.waitActive(dialog):
        dialog.show()
    press_in(dialog, Qt.Key.Key_Q, CONTROL)
    buttons[1].setFocus()
    assert pixels_that_show_the_focus(find(dialog, QPushButton, "two")) >= SEEN
    at = buttons[0].geometry().center()
    QTest.mouseClick(dialog.windowHandle(), Qt.MouseButton.LeftButton, NONE, at)
    assert buttons[0].hasFocus() and not dialog.testAttribute(VISIBLE_FOCUS)
    assert pixels_that_show_the_focus(buttons[0]) == 0
