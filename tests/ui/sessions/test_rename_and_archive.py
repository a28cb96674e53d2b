"""Renaming, selecting, archiving and trashing sessions in the list, by keyboard and menu."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMenu, QTableView
from pytestqt.qtbot import QtBot

from tests.ui.hands import find, press, write
from tests.ui.sessions.test_model import FakeClock
from tests.ui.sessions.test_rows import MINUTE, row
from ui.sessions import panel as sessions_panel
from ui.sessions.panel import SessionsPanel
from ui.sessions.session_menu import SessionAction
from ui.sessions.sessions_model import Role
from ui.style.theme import Look


@pytest.fixture
def panel(look: Look, qtbot: QtBot) -> SessionsPanel:
    made = SessionsPanel(look, home="/home/me", clock=FakeClock())
    qtbot.addWidget(made)
    made.resize(264, 600)
    made.show()
    made.show_sessions([row("a"), row("b", age=2 * MINUTE), row("c", archived=1), row("d", trashed=1)])
    return made


def view(panel: SessionsPanel) -> QTableView:
    return find(panel, QTableView, "sessions.list")


def shown_rows(panel: SessionsPanel) -> list[str]:
    model = view(panel).model()
    return [str(model.index(n, 0).data(Role.SESSION) or model.index(n, 0).data()) for n in range(model.rowCount())]


def menu_of(panel: SessionsPanel) -> QMenu:
    """Open and return the context menu of the focused row."""
    table = view(panel)
    QTest.keyClick(table, Qt.Key.Key_Menu)
    place = table.visualRect(table.currentIndex()).center()
    table.menu_requested.emit(table.viewport().mapToGlobal(place))  # type: ignore[attr-defined]
    return panel.findChildren(QMenu, "sessions.menu")[-1]


def choose(menu: QMenu, action: SessionAction) -> None:
    find_action(menu, action).trigger()
    menu.close()


def find_action(menu: QMenu, action: SessionAction) -> QAction:
    return next(entry for entry in menu.actions() if entry.objectName() == f"sessions.menu.{action}")


def test_f2_renames_in_place_and_a_running_session_does_not_disturb(panel: SessionsPanel, qtbot: QtBot) -> None:
    table = view(panel)
    table.setFocus()
    press(table, Qt.Key.Key_Down)
    press(table, Qt.Key.Key_F2)
    field = find(panel, QLineEdit, "sessions.rename")
    assert field.text() == "Title a" and field.selectedText() == "Title a"
    write(field, "Better")
    panel.update_session(row("a", activity="something else"))
    assert field.text() == "Better"
    with qtbot.waitSignal(panel.renamed) as told:
        press(field, Qt.Key.Key_Return)
    assert told.args == ["a", "Better"]


def test_escape_keeps_the_title(panel: SessionsPanel) -> None:
    told: list[str] = []
    panel.renamed.connect(lambda name, _: told.append(name))
    panel.rename("b")
    field = find(panel, QLineEdit, "sessions.rename")
    write(field, "No")
    press(field, Qt.Key.Key_Escape)
    assert told == [] and shown_rows(panel)[:3] == ["Today", "a", "b"]


def test_the_archive_opens_and_closes_by_key(panel: SessionsPanel) -> None:
    assert shown_rows(panel) == ["Today", "a", "b", "Archived", "Trash"]
    table = view(panel)
    table.setFocus()
    for _ in range(3):
        press(table, Qt.Key.Key_Down)
    press(table, Qt.Key.Key_Return)
    assert shown_rows(panel) == ["Today", "a", "b", "Archived", "c", "Trash"]
    press(table, Qt.Key.Key_Return)
    assert shown_rows(panel)[-2:] == ["Archived", "Trash"]


def test_a_screen_reader_hears_whether_a_group_is_expanded(
    panel: SessionsPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[str] = []
    monkeypatch.setattr(sessions_panel, "announce", lambda _, text: announced.append(text))
    table = view(panel)
    table.setFocus()
    for _ in range(4):
        press(table, Qt.Key.Key_Down)
    press(table, Qt.Key.Key_Return)
    press(table, Qt.Key.Key_Return)
    assert announced == ["Trash, 1, expanded", "Trash, 1, collapsed"]


def test_several_sessions_are_selected_by_shift_and_deleted_together(panel: SessionsPanel, qtbot: QtBot) -> None:
    table = view(panel)
    table.setFocus()
    press(table, Qt.Key.Key_Down)
    press(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    with qtbot.waitSignal(panel.action_requested) as told:
        press(table, Qt.Key.Key_Delete)
    assert told.args == [SessionAction.TRASH, ["a", "b"]]
    with qtbot.waitSignal(panel.undo_requested):
        press(table, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)


def test_the_menu_offers_actions_that_fit_the_row(panel: SessionsPanel, qtbot: QtBot) -> None:
    table = view(panel)
    table.setFocus()
    press(table, Qt.Key.Key_Down)
    menu = menu_of(panel)
    assert find_action(menu, SessionAction.PIN).text() == "Pin"
    with qtbot.waitSignal(panel.action_requested) as told:
        choose(menu, SessionAction.ARCHIVE)
    assert told.args == [SessionAction.ARCHIVE, ["a"]]
    panel.update_session(row("a", pinned=1))
    panel.remove_sessions(["b", "c"])
    assert shown_rows(panel) == ["Pinned", "a", "Trash"]
    table.setCurrentIndex(table.model().index(2, 0))
    with qtbot.waitSignal(panel.action_requested) as told:
        choose(menu_of(panel), SessionAction.EMPTY_TRASH)
    assert told.args == [SessionAction.EMPTY_TRASH, []]
    press(table, Qt.Key.Key_Return)
    table.setCurrentIndex(table.model().index(3, 0))
    with qtbot.waitSignal(panel.action_requested) as told:
        choose(menu_of(panel), SessionAction.RESTORE)
    assert told.args == [SessionAction.RESTORE, ["d"]]
