"""The engine outlives the window: closing it while sessions run asks once, and a quit waits for the current step."""

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from core.domain.sessions import SessionRow
from tests.ui.hands import click, find
from tests.ui.test_desktop_app import Person, live, until
from tests.ui.test_following_in_window import owned as owned
from tests.ui.test_following_in_window import run_in_terminal
from ui.dialogs.close_dialog import CloseDialog, QuitDialog
from ui.sessions.session_rows import SessionLine
from ui.sessions.sessions_model import Role
from ui.shell.notification_texts import ended_text
from ui.style.theme import Look

WAIT = {"name": "run", "arguments": {"command": "while [ ! -e go ]; do sleep 0.05; done"}}
WORKS = json.dumps({"replies": [{"text": "I wait.", "calls": [WAIT]}, {"text": "Done."}]})


async def started(person: Person) -> str:
    """Start a run whose command waits for the file `go`."""
    session = await person.start(WORKS)()
    await until(lambda: person.window.row(session).activity_kind == "command", "the command")
    return session


def let_go(person: Person) -> None:
    (person.home / "work" / "go").touch()


async def dialog_of(person: Person) -> CloseDialog:
    return await until(lambda: person.shell.findChild(CloseDialog), "the question")


def test_sessions_go_on_without_the_window_and_it_opens_again(qapp: QApplication, owned: Path) -> None:
    async def act(person: Person) -> None:
        window, shell = person.window, person.shell
        window.close_guard.has_tray = lambda: True
        session = await started(person)
        shell.close()
        dialog = await dialog_of(person)
        assert shell.isVisible() and "Write it" in find(dialog, QLabel, "close.sessions").text()
        click(find(dialog, QPushButton, "close.cancel"))
        assert shell.isVisible() and window.row(session).status == "running"
        await until(lambda: shell.findChild(CloseDialog) is None, "the dialog is gone")
        shell.close()
        click(find(await dialog_of(person), QPushButton, "close.background"))
        await until(shell.isHidden, "the window is hidden")
        let_go(person)
        await until(lambda: window.row(session).status == "done", "the run goes on")
        await until(lambda: session in window.unseen.ids, "it is marked as not seen")
        assert ended_text([window.row(session)])[1].startswith("Finished")
        await run_in_terminal(person)
        await until(shell.isVisible, "`journeyman` opens the window of the running engine")
        items = [window.sessions._model.index(at, 0) for at in range(window.sessions._model.rowCount())]
        line = next(item for item in items if isinstance(item.data(Role.ITEM), SessionLine))
        assert "not seen yet" in str(line.data(Role.SESSION) and line.data(11))  # Qt.AccessibleTextRole
        window.show_session(session)
        QApplication.sendEvent(window, QEvent(QEvent.Type.ActivationChange))
        await until(lambda: session not in window.unseen.ids or not shell.isActiveWindow(), "it is seen")

    live(qapp, owned, act)


def test_the_answer_is_remembered_and_can_be_changed(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, shell = person.window, person.shell
        window.close_guard.has_tray = lambda: True
        await started(person)
        shell.close()
        dialog = await dialog_of(person)
        find(dialog, QCheckBox, "close.remember").setChecked(True)
        click(find(dialog, QPushButton, "close.background"))
        await until(shell.isHidden, "hidden")
        settings = home / "settings.json"
        await until(lambda: settings.exists() and "background" in settings.read_text(), "stored in the settings")
        shell.show()
        await until(lambda: shell.findChild(CloseDialog) is None, "the dialog is gone")
        shell.close()
        assert shell.isHidden() and shell.findChild(CloseDialog) is None, "it does not ask again"
        shell.show()
        window.setting_changed.emit("on_close", "ask")
        shell.close()
        (await dialog_of(person)).reject()
        let_go(person)

    live(qapp, home, act)


def test_a_quit_waits_for_the_current_step_and_leaves_the_run_paused(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, shell = person.window, person.shell
        session = await started(person)
        window.actions_by_id["window.close"].trigger()
        dialog = await until(lambda: shell.findChild(QuitDialog), "the dialog")
        await until(lambda: "Write it" in find(dialog, QLabel, "quit.text").text(), "what it waits for")
        assert shell.isVisible() and window.row(session).status == "running"
        let_go(person)
        await until(lambda: not isValid(shell) or shell.isHidden(), "it quits")

    live(qapp, home, act)
    with sqlite3.connect(home / "journeyman.db") as db:
        assert db.execute("SELECT status FROM session").fetchall() == [("paused",)]


def test_without_a_tray_the_hidden_program_ends_with_its_last_run(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        shell, closed = person.shell, asyncio.Event()
        person.window.closed.connect(closed.set)
        await started(person)
        shell.close()
        dialog = await dialog_of(person)
        assert "no tray icons" in find(dialog, QLabel, "close.text").text()
        click(find(dialog, QPushButton, "close.background"))
        await until(shell.isHidden, "the window is hidden")
        assert not closed.is_set()
        let_go(person)
        await until(closed.is_set, "the program ends")

    live(qapp, home, act)


def test_the_end_of_the_desktop_session_saves_what_was_typed(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await started(person)
        window.show_session(session)
        window.view.composer._input.insertPlainText("half a thought")
        person.program._save_window()  # Qt calls it with a QSessionManager, which only a session manager can create
        assert "half a thought" in (home / "window.json").read_text()
        let_go(person)

    live(qapp, home, act)


def test_the_dialog_of_a_quit_shows_all_of_its_text(look: Look, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    dialog = QuitDialog(look, window)
    dialog.open()
    row = SessionRow("a", "Count the lines of every file in the folder and write them down")
    dialog.show_running([row, row])
    text = find(dialog, QLabel, "quit.text")
    qtbot.waitUntil(lambda: text.height() >= text.heightForWidth(text.width()))


@pytest.mark.parametrize(("count", "pronoun"), [(1, "It"), (2, "They")])
def test_the_dialogs_of_a_quit_speak_of_one_session_in_the_singular(
    look: Look, qtbot: QtBot, count: int, pronoun: str
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    rows = [SessionRow("a", "Count the lines")] * count
    quit_dialog, close_dialog = QuitDialog(look, window), CloseDialog(look, rows, window, has_tray=True)
    quit_dialog.show_running(rows)
    can = "is paused" if count == 1 else "are paused"
    assert f"{pronoun} {can} and can be resumed." in find(quit_dialog, QLabel, "quit.text").text()
    assert f"{pronoun} can go on in the background" in find(close_dialog, QLabel, "close.text").text()


def test_the_end_of_a_run_is_told_with_the_words_below_the_heading(qapp: QApplication, home: Path) -> None:
    reply = "# Result\n\nThe invoice script **keeps** both files.\nMore follows."

    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(json.dumps({"replies": [{"text": reply}]}))()
        await until(lambda: session in window.unseen.ids, "the end")
        last_reply = window.session_index.reader.last_reply
        told = "Finished: Result. The invoice script keeps both files. More follows."
        assert ended_text([window.row(session)], last_reply(window.row(session)))[1] == told

    live(qapp, home, act)
