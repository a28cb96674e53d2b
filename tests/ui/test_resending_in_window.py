"""A message is edited and resent, or tried with another model, from the window."""

import json
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.events import RunStarted, UserMessage
from core.domain.question import Answer, QuestionAsked
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.models.catalog import SCRIPTED
from core.settings.schema import Provider
from tests.core.exchange.test_importers import CLAUDE
from tests.servers.scripted_server import ReceivedRequest, ScriptedServer, ServerAction, answer, chunk, stream
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import ASKS, Person, activate, live, until
from tests.ui.test_faults_in_window import faulty_server
from ui.dialogs.edit_message_dialog import EditMessageDialog
from ui.palette.panel import Palette
from ui.style.theme import Look

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
SCRIPT = json.dumps({"replies": [{"text": "Done."}], "then": "repeat_last"})


class ModelServer(ScriptedServer):
    """Lists its models whenever it is asked, and otherwise sends the second response."""

    def answer_to(self, request: ReceivedRequest, number: int) -> Sequence[ServerAction]:
        return self.answers[0 if request.path.endswith("/models") else 1]


async def finished_session(person: Person) -> SessionRow:
    """Start a session with two runs and show it."""
    window, engine = person.window, person.program.engine
    await until(window.start.isVisible, "the start screen")
    session = await person.start(SCRIPT)()
    window.show_session(session)
    await until(lambda: window.row(session).runs == 1 and window.row(session).status == "done", "its end")
    await engine.ask(lambda e: e.send_message(session, "Write another"))
    await until(lambda: window.row(session).runs == 2 and window.row(session).status == "done", "the second run")
    return window.row(session)


async def fork_of(person: Person, session: str) -> SessionRow:
    """Return the fork that is shown once its run has ended."""
    window = person.window
    await until(lambda: window.selection.session != session, "the fork is shown")
    fork = window.selection.session
    await until(lambda: window.row(fork).runs and window.row(fork).status == "done", "the end of the fork")
    return window.row(fork)


async def user_messages(engine: Engine, session: str) -> list[str]:
    return [entry.event.text.head async for entry in engine.events(session) if isinstance(entry.event, UserMessage)]


def has_obstacle(person: Person, reason: str) -> bool:
    return reason in person.window.view.page.repeat_obstacle()


def open_menu(person: Person, row: int) -> QMenu:
    view = person.window.view.page.view
    position = view.visualRect(view.model().index(row, 0)).center()
    screen = view.viewport().mapToGlobal(position)
    request = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, position, screen, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(view.viewport(), request)
    return person.window.findChildren(QMenu, "row.menu")[-1]


def test_a_message_is_edited_and_resent_from_its_menu(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, session = person.window, (await finished_session(person)).id
        window.view.page.view.go_to_row(0)
        menu = open_menu(person, 0)
        find_action(menu, "row.menu.copy").trigger()
        assert QApplication.clipboard().text() == "Write it"
        find_action(menu, "row.menu.edit").trigger()
        menu.close()
        field = await until(lambda: window.findChild(QPlainTextEdit, "resend.text"), "the dialog")
        assert field.toPlainText() == "Write it"
        assert "not reverted" in find(window, QLabel, "resend.note").text()
        write(field, " twice")
        press(field, Qt.Key.Key_Return)
        fork = await fork_of(person, session)
        assert fork.forked_from == session and fork.runs == 1 and window.row(session).runs == 2
        assert await person.program.engine.ask(lambda e: user_messages(e, fork.id)) == ["Write it twice"]

    live(qapp, home, act)


def test_the_last_message_is_edited_by_keys(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, session = person.window, (await finished_session(person)).id
        await activate(window)
        press(window.view.page.view, Qt.Key.Key_E, CONTROL)
        field = await until(lambda: window.findChild(QPlainTextEdit, "resend.text"), "the dialog")
        assert field.toPlainText() == "Write another"
        field.clear()
        assert not find(window, QPushButton, "resend.send").isEnabled()
        write(field, "Write a third")
        click(find(window, QPushButton, "resend.send"))
        fork = await fork_of(person, session)
        texts = await person.program.engine.ask(lambda e: user_messages(e, fork.id))
        assert texts == ["Write it", "Write a third"]

    live(qapp, home, act)


def test_a_message_that_was_queued_during_a_run_is_edited(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, engine = person.window, person.program.engine
        await until(window.start.isVisible, "the start screen")
        session = await person.start(ASKS)()
        window.show_session(session)
        await until(person.card, "the card")
        await engine.ask(lambda e: e.send_message(session, "Make it short"))
        await until(lambda: window.view.composer.findChild(QPushButton, "composer.queued.1.remove"), "its card")
        [queued] = await engine.ask(lambda e: e.queue.list(session))
        await engine.ask(lambda e: e.queue.edit(session, queued.seq, "Make it shorter"))
        [question] = await engine.ask(lambda e: questions(e, session))
        await engine.ask(lambda e: e.answer(question, Answer(text="Kind"), resume=True))
        await until(lambda: window.row(session).status == "done", "its end")
        await until(window.actions_by_id["run.edit"].isEnabled, "the run is over")
        window.actions_by_id["run.edit"].trigger()
        field = await until(lambda: window.findChild(QPlainTextEdit, "resend.text"), "the dialog")
        assert field.toPlainText() == "Make it shorter"
        field.selectAll()
        write(field, "Make it long")
        press(field, Qt.Key.Key_Return)
        await until(lambda: window.selection.session != session, "the fork is shown")
        fork = window.selection.session
        await until(lambda: window.row(fork).runs and window.row(fork).status not in {"running"}, "the fork runs")
        assert (await engine.ask(lambda e: user_messages(e, fork)))[-1] == "Make it long"

    live(qapp, home, act)


async def questions(engine: Engine, session: str) -> list[str]:
    return [entry.event.question.id async for entry in engine.events(session) if isinstance(entry.event, QuestionAsked)]


def test_a_message_is_tried_with_another_model_chosen_by_keys(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, session = person.window, (await finished_session(person)).id

        async def add_provider(engine: Engine) -> None:
            engine.settings.change(providers=(Provider(name="box", url=url),))

        await person.program.engine.ask(add_provider)
        await activate(window)
        press(window.view.page.view, Qt.Key.Key_R, CONTROL | SHIFT)
        query = find(window, QLineEdit, "palette.field")
        await until(lambda: query.isVisible() and "new session" in query.placeholderText(), "the list of models")
        write(query, "box/m")
        press(query, Qt.Key.Key_Return)
        fork = await fork_of(person, session)
        assert fork.forked_from == session and fork.model == "box/m" and window.row(session).model == SCRIPTED
        texts = await person.program.engine.ask(lambda e: user_messages(e, fork.id))
        assert texts == ["Write it", "Write another"]

    with faulty_server(answer(stream(chunk(content="Hello"), chunk("stop"))), b"", ModelServer) as url:
        live(qapp, home, act)


def test_a_message_that_cannot_be_sent_again_says_why(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, engine = person.window, person.program.engine
        await until(window.start.isVisible, "the start screen")
        imported = (await engine.ask(lambda e: e.exchange.import_file(CLAUDE))).session
        (home / "gone").mkdir()
        start = RunStarted(SCRIPTED, script=Text(SCRIPT), mode="auto")
        gone = await engine.ask(lambda e: e.start("Write it", home / "gone", start))
        await until(lambda: window.row(gone).runs and window.row(gone).status == "done", "its end")
        shutil.rmtree(home / "gone")
        waiting = await person.start(ASKS)()
        await until(lambda: window.row(waiting).status == "waiting", "its question")
        for session, reason in ((imported, "imported"), (gone, "gone"), (waiting, "Pause or stop")):
            window.show_session(session)
            await until(partial(has_obstacle, person, reason), reason)
            edit = find_action(menu := open_menu(person, 0), "row.menu.edit")
            assert not edit.isEnabled() and reason in edit.toolTip()
            menu.close()
            assert not window.actions_by_id["run.edit"].isEnabled()
            window.commands.open_commands()
            details = [match.entry.detail for match in find(window, Palette, "palette")._model.items]
            assert any(reason in detail for detail in details)
            window.commands.palette.dismiss()
        await engine.ask(lambda e: e.stop(waiting))
        await until(window.actions_by_id["run.edit"].isEnabled, "the run is over")

    live(qapp, home, act)


def find_action(menu: QMenu, name: str) -> QAction:
    action = menu.findChild(QAction, name)
    assert action is not None
    return action


def test_an_empty_message_is_not_resent(look: Look, qtbot: QtBot) -> None:
    dialog = EditMessageDialog(look, "", "letter.pdf, 48 KB")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    send = find(dialog, QPushButton, "resend.send")
    assert not send.isEnabled()
    write(find(dialog, QPlainTextEdit, "resend.text"), "Read it.")
    assert send.isEnabled()


def test_no_line_of_a_long_message_is_cut_off(look: Look, qtbot: QtBot) -> None:
    dialog = EditMessageDialog(look, "names like /home/you/a-folder-with-a-long-name, and " * 60, "letter.pdf, 48 KB")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    field = find(dialog, QPlainTextEdit, "resend.text")
    lines = field.document().firstBlock().layout()
    qtbot.waitUntil(field.verticalScrollBar().isVisible)
    assert max(lines.lineAt(n).naturalTextWidth() for n in range(lines.lineCount())) <= field.viewport().width()
    frame = field.parentWidget()
    assert frame is not None
    qtbot.waitUntil(lambda: frame.rect().contains(field.geometry()))
    write(field, "The end")
    assert field.viewport().rect().contains(field.cursorRect())
