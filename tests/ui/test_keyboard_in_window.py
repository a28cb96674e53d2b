"""The window by keys only, and as a screen reader sees it: Enter on buttons, where the focus goes, names and order."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.window import desktop_app
from tests.ui.hands import find, press
from tests.ui.test_desktop_app import Person, activate, live, until
from tests.ui.test_new_session_in_window import set_model
from tests.ui.test_terminal_in_window import has_ended, opened, script
from ui.ask.question_form import QuestionForm
from ui.dialogs.edit_message_dialog import EditMessageDialog
from ui.dialogs.help_dialog import HelpDialog
from ui.sessions import panel as sessions_panel
from ui.sessions.session_rows import SessionHeading
from ui.settings.add_mcp_server import AddMcpServerDialog
from ui.settings.settings_dialog import SettingsDialog
from ui.start.new_session_form import NewSessionForm
from ui.style.theme import Look
from ui.timeline.minimap import Minimap
from ui.widgets.button import Button
from ui.widgets.labels import TextField


def focused(person: Person) -> QWidget | None:
    return person.shell.focusWidget()


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_clicks_the_focused_button_and_not_the_default_of_the_dialog(
    look: Look, qtbot: QtBot, key: Qt.Key
) -> None:
    dialog, clicked = QDialog(), list[str]()
    qtbot.addWidget(dialog)
    layout = QVBoxLayout(dialog)
    for name in ("cancel", "delete"):
        button = Button(look, name, name=name)
        button.clicked.connect(lambda _=False, name=name: clicked.append(name))
        layout.addWidget(button)
    find(dialog, QPushButton, "delete").setDefault(True)
    dialog.show()
    find(dialog, QPushButton, "cancel").setFocus()
    press(find(dialog, QPushButton, "cancel"), key)
    assert clicked == ["cancel"]


def test_enter_opens_pages_and_starts_the_demo(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        for name, page in (("memory", "memory"), ("usage", "usage")):
            button = find(window.sessions, QWidget, f"sessions.{name}")
            button.setFocus()
            press(button, Qt.Key.Key_Return)
            assert window.selection.page == page
        search = find(window.sessions, QToolButton, "sessions.search_button")
        search.setFocus()
        press(search, Qt.Key.Key_Return)
        assert search.isChecked()
        window.actions_by_id["run.new"].trigger()
        demo = find(window.start, QPushButton, "start.demo")
        demo.setFocus()
        press(demo, Qt.Key.Key_Return)
        await until(lambda: window.view.isVisible() and window.view.session, "the demo")

    live(qapp, home, act)


def test_new_session_focuses_the_task_and_a_chosen_folder_the_next_step(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, form = person.window, person.window.start.form
        await person.program.engine.ask(set_model)
        await until(window.start.isVisible, "the start screen")
        window.start.shown.emit()
        await until(form.isVisible, "the form")
        folder = find(form, QPushButton, "start.folder")
        folder.setFocus()
        window.actions_by_id["run.new"].trigger()
        task = focused(person)
        assert task is not None and task.objectName() == "start.task"
        folder.setFocus()
        form._choose_folder(str(home))
        assert focused(person) is task
        form.fill("Write a letter")
        folder.setFocus()
        form._choose_folder(str(home))
        assert focused(person) is task, "typing on must not press a button"

    live(qapp, home, act)


def test_the_focus_follows_from_the_terminal_to_the_step_and_is_never_lost(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(script("echo one"))()
        await until(lambda: has_ended(person, session), "the end")
        _, _, listed = await opened(person, session)
        assert focused(person) is listed
        await until(lambda: listed.model().rowCount() == 1, "the command")
        assert focused(person) is listed
        press(listed, Qt.Key.Key_Return)
        steps = focused(person)
        assert isinstance(steps, QTableView) and window.view.page.current_tab == "steps"

    live(qapp, home, act)


def test_tab_goes_from_the_steps_to_the_card_at_their_end_and_then_to_the_message(
    qapp: QApplication, home: Path
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(script("echo one"))()
        window.show_session(session)
        await until(lambda: has_ended(person, session), "the end")
        helped = await until(lambda: window.view.page.findChild(QToolButton, "end.up"), "the card")
        await until(helped.isVisible, "the card is visible")
        window.view.page.focus_tab()
        names = list[str]()
        while (at := focused(person)) is not None and at.objectName() != "composer.input" and len(names) < 12:
            names.append(at.objectName())
            press(at, Qt.Key.Key_Tab)
        assert "end.up" in names and len(names) < 12, names

    live(qapp, home, act)


def test_enter_rates_a_run_and_copies_code_in_the_steps(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        reply = json.dumps({"replies": [{"text": "Run this:\n\n```\nmake all\n```\n"}]})
        session = await person.start(reply)()
        window.show_session(session)
        await until(lambda: has_ended(person, session), "the end")
        helped = await until(lambda: window.view.page.findChild(QToolButton, "end.up"), "the card")
        copy = await until(lambda: window.view.page.findChild(QToolButton, "timeline.reply.copy"), "the code")
        await until(lambda: helped.isVisible() and copy.isVisible(), "both buttons")
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            before = helped.isChecked()
            helped.setFocus()
            press(helped, key)
            await until(lambda: helped.isChecked() is not before, "the rating")  # noqa: B023 - called at once
        QGuiApplication.clipboard().clear()
        copy.setFocus()
        press(copy, Qt.Key.Key_Return)
        assert QGuiApplication.clipboard().text() == "make all"

    live(qapp, home, act)


@pytest.mark.parametrize("tab", ["steps", "timeline", "changes", "context", "decisions", "terminal"])
def test_tab_leads_out_of_the_contents_of_every_tab(qapp: QApplication, home: Path, tab: str) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(script("echo one > a; echo two"))()
        window.show_session(session)
        await until(lambda: has_ended(person, session), "the end")
        for name in ("changes", "decisions", tab):
            window.view.page.show_tab(name)
        window.view.page.focus_tab()
        reached = set[str]()
        for _ in range(60):
            if (at := focused(person)) is not None:
                reached.add(at.objectName())
                press(at, Qt.Key.Key_Tab)
        assert {"run.tabs", "sessions.list"} <= reached, reached

    live(qapp, home, act)


def test_a_screen_reader_reads_the_columns_from_left_to_right(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start()()
        window.show_session(session)
        form = await until(lambda: window.view.findChild(QuestionForm), "the question")
        assert form.accessibleName()
        columns = QAccessible.queryAccessibleInterface(find(window, QWidget, "window.columns"))
        parts = [columns.child(index).object() for index in range(columns.childCount())]
        order = [parts.index(part) for part in (window.sessions, window.step_pane)]
        assert order == sorted(order) and order[0] == 0

    live(qapp, home, act)


def test_a_low_window_shows_all_options_of_a_question(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        person.shell.resize(900, 600)
        options = [
            {"label": "Firm, with a 14-day deadline", "description": "Names the clause and the next step. " * 2},
            {"label": "Friendly first reminder", "description": "No deadline, no legal reference."},
            {"label": "Formal notice, copy to the council", "description": "Starts the official route at once."},
        ]
        ask = {
            "name": "ask_user",
            "arguments": {"question": "Which one?", "why": "The tone decides what I write.", "options": options},
        }
        session = await person.start(json.dumps({"replies": [{"text": "I ask.", "calls": [ask]}, {"text": "Done."}]}))()
        window.show_session(session)
        form = await until(lambda: window.view.findChild(QuestionForm), "the question")
        await until(lambda: all(not option.visibleRegion().isEmpty() for option in form.options), "the options")
        third = form.options[2]
        await until(lambda: third.visibleRegion().boundingRect().height() == third.height(), "the third is complete")
        person.shell.resize(1440, 900)
        await until(find(window.view, Minimap, "run.strip").isVisible, "the map of the session returns")

    live(qapp, home, act)


@pytest.mark.parametrize("tab", ["changes", "decisions", "terminal"])
def test_an_empty_tab_is_read_and_does_not_trap_the_keyboard(qapp: QApplication, home: Path, tab: str) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(json.dumps({"replies": [{"text": "Nothing to do."}]}))()
        window.show_session(session)
        await until(lambda: has_ended(person, session), "the end")
        window.view.go_to_tab(tab)
        empty = await until(lambda: window.view.findChild(QLabel, f"{tab}.empty"), "the text")
        await until(lambda: focused(person) is empty and empty.isVisible(), "the text has the focus")
        press(empty, Qt.Key.Key_Tab)
        assert (at := focused(person)) is not None and at is not empty and at.isVisible()

    live(qapp, home, act)


def test_tab_reaches_what_is_below_the_steps_after_them(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        page = person.window.view.page
        buttons = page._interruption_bar.findChildren(Button)
        part, order = page.view.nextInFocusChain(), list[QWidget]()
        while part is not None and part is not page.view:
            order.append(part)
            part = part.nextInFocusChain()
        strip = find(page, QWidget, "run.strip")
        assert max(order.index(button) for button in buttons) < order.index(strip)

    live(qapp, home, act)


def test_ctrl_j_goes_to_requests_and_then_to_interrupted_sessions(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        asking = await person.start()()
        await until(lambda: window.session_index.requests.pending, "the question")
        ended = await person.start(json.dumps({"replies": [{"text": "Done."}]}))()
        await until(lambda: has_ended(person, ended), "the end")
        rows = window.session_index._rows
        rows[ended] = rows[ended]._replace(status="interrupted")  # as after a crash
        visited = []
        for _ in range(3):
            window.go_to_next_request()
            visited.append(window.selection.session)
        assert visited == [asking, ended, asking]
        window.session_index.requests.pending = []
        window._enable_commands()
        assert window.actions_by_id["question.next"].isEnabled()

    live(qapp, home, act)


def test_ctrl_enter_starts_the_session_also_from_the_check_box(qapp: QApplication, look: Look, qtbot: QtBot) -> None:
    form = NewSessionForm(look)
    qtbot.addWidget(form)
    form.set_models(["local/small"])
    form.set_folder("/srv")
    form.offer_worktree("/srv", True)
    form.fill("Write a letter")
    form.show()
    box = find(form, QCheckBox, "start.worktree")
    box.setFocus()
    with qtbot.waitSignal(form.start_requested):
        press(box, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def test_ctrl_enter_starts_the_session_also_from_a_button(look: Look, qtbot: QtBot) -> None:
    form = NewSessionForm(look)
    qtbot.addWidget(form)
    form.set_models(["local/small"])
    form.set_folder("/srv")
    form.fill("Write a letter")
    form.show()
    button = find(form, QPushButton, "start.attach")
    button.setFocus()
    with qtbot.waitSignal(form.start_requested):
        press(button, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert form.findChild(QDialog, "start.files") is None


def test_the_shortcut_attaches_files_to_a_new_session(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        attach = window.actions_by_id["composer.attach"]
        assert attach.isEnabled()
        attach.trigger()
        dialog = await until(lambda: window.start.findChild(QDialog, "start.files"), "the dialog")
        dialog.close()

    live(qapp, home, act)


def test_f1_in_the_settings_opens_the_help_about_them(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        window.settings_requested.emit()
        dialog = await until(lambda: window.findChild(SettingsDialog), "the settings")
        await activate(dialog)
        press(dialog, Qt.Key.Key_F1)
        shown = await until(lambda: dialog.findChild(HelpDialog), "the help")
        assert find(shown, QListWidget, "help.pages").currentItem().text() == "Settings"
        shown.close()
        dialog.close()

    live(qapp, home, act)


def test_a_screen_reader_hears_of_search_results_and_of_the_theme(
    qapp: QApplication, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = list[str]()
    for module in (sessions_panel, desktop_app):
        monkeypatch.setattr(module, "announce", lambda _, text: heard.append(text))

    async def act(person: Person) -> None:
        window = person.window
        session = await person.start()()
        await until(lambda: session in window.session_index, "the session")
        window.sessions.open_search()
        find(window.sessions, QLineEdit, "sessions.search").setText("Write")
        await until(lambda: any("search result" in text for text in heard), "the number of results")
        model = window.sessions._model
        items = [model.item(model.index(row, 0)) for row in range(model.rowCount())]
        count = sum(not isinstance(item, SessionHeading) for item in items)
        assert heard[-1] == ("1 search result" if count == 1 else f"{count} search results")
        window.theme_toggle_requested.emit()
        assert heard[-1] in ("Light theme", "Dark theme")
        window.scale_requested.emit(1)
        assert heard[-1].startswith("Text size 1") and heard[-1].endswith("%")
        window.scale_requested.emit(0)
        assert heard[-1] == "Text size 100%"

    live(qapp, home, act)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda look: EditMessageDialog(look, "Hello", "", None), "resend.text"),
        (AddMcpServerDialog, "add_mcp_server.source"),
    ],
)
def test_the_frame_of_a_focused_text_field_is_highlighted(
    look: Look, qtbot: QtBot, make: Callable[[Look], QDialog], name: str
) -> None:
    dialog = make(look)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    with qtbot.waitActive(dialog):
        dialog.show()
    field = find(dialog, TextField, name)
    frame = field.parentWidget()
    assert frame is not None
    for focused in (True, False):
        field.setFocus() if focused else field.clearFocus()
        assert frame.property("focused") is focused
