"""The context menu of rows and lines in the real window: copy, open in the editor, fork, revert, find similar."""

import json
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QMenu, QPushButton, QWidget

from tests.core.workspace.test_editors import RECORD, install
from tests.ui.hands import click, find, press, select_line
from tests.ui.test_desktop_app import Person, live, until
from ui.diff.diff_view import DiffView
from ui.timeline.reply_widgets import ReplyText

ANSWER = "I wrote `work.py:2`, see [the file](work.py#L2) and [a page](https://a.example). **Done.**"
SCRIPT = json.dumps(
    {
        "replies": [
            {"calls": [{"name": "write", "arguments": {"path": "work.py", "content": "a = 1\nb = 2\n"}}]},
            {"text": ANSWER},
        ]
    }
)


class Record:
    """What the editor was started with."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def exists(self) -> bool:
        return self._path.exists()

    def take(self) -> list[str]:
        words = self._path.read_text().splitlines()
        self._path.unlink()
        return words


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Install an editor that records its arguments, and return the record."""
    programs = tmp_path / "bin"
    programs.mkdir()
    install(programs, "code", RECORD)
    install(programs, "xterm", '#!/bin/sh\npwd > "$RECORD"\n')
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    return Record(tmp_path / "record")


async def open_session(person: Person) -> str:
    window = person.window
    session = await person.start(SCRIPT)()
    await until(lambda: window.row(session).runs and window.row(session).status == "done", "its end")
    window.show_session(session)
    await until(lambda: window.view.page.view.replies.shown, "the answer")
    return session


def row_of(person: Person, kind: str) -> int:
    model = person.window.view.page.model
    steps = [model.step_at(position) for position in range(model.rowCount())]
    return next(position for position, step in enumerate(steps) if step and step.kind == kind)


def choose(person: Person, kind: str, action: str) -> None:
    """Right-click a row and choose an action."""
    view = person.window.view.page.view
    view.select(row_of(person, kind))
    position = view.visualRect(view.model().index(row_of(person, kind), 0)).center()
    view.customContextMenuRequested.emit(position)
    pick(person, "row.menu", action)


def pick(person: Person, menu_name: str, action: str) -> None:
    menu = person.window.findChildren(QMenu, menu_name)[-1]
    found = menu.findChild(QAction, f"{menu_name}.{action}")
    assert isinstance(found, QAction) and found.isEnabled(), action
    found.trigger()
    menu.close()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_rows_are_copied_opened_searched_forked_and_reverted(qapp: QApplication, home: Path, editor: Record) -> None:
    async def act(person: Person) -> None:
        window, copied = person.window, QGuiApplication.clipboard().text
        session = await open_session(person)
        choose(person, "reply", "markdown")
        assert copied() == ANSWER
        choose(person, "reply", "copy")
        assert copied() == "I wrote work.py:2, see the file and a page. Done."
        choose(person, "write", "copy")
        assert copied() == "work.py"
        choose(person, "write", "file")
        await until(editor.exists, "the editor")
        assert editor.take() == [str((home / "work" / "work.py").resolve())]
        choose(person, "write", "similar")
        field = find(window.view, QLineEdit, "run.find.words")
        assert field.isVisible() and field.text() == "work.py"
        choose(person, "user", "rewind")
        dialog = await until(lambda: window.findChild(QDialog, "putback"), "the dialog")
        click(find(dialog, QPushButton, "putback.yes"))
        await until(lambda: not (home / "work" / "work.py").exists(), "the revert")
        choose(person, "write", "fork")
        await until(lambda: window.selection.session != session, "the fork")

    live(qapp, home, act)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_the_menu_of_a_row_opens_over_the_text_of_an_answer(qapp: QApplication, home: Path, editor: Record) -> None:
    async def act(person: Person) -> None:
        await open_session(person)
        view = person.window.view.page.view
        reply = next(iter(view.replies.shown.values()))
        reply.selectAll()
        right_click(reply.viewport(), reply.viewport().rect().center())
        menu = person.window.findChildren(QMenu, "row.menu")[-1]
        copy = menu.findChild(QAction, "row.menu.copy")
        assert isinstance(copy, QAction) and copy.text() == "Copy the selection"
        pick(person, "row.menu", "copy")
        assert QGuiApplication.clipboard().text().startswith("I wrote")

    live(qapp, home, act)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_links_to_files_open_them_at_the_line(qapp: QApplication, home: Path, editor: Record) -> None:
    async def act(person: Person) -> None:
        await open_session(person)
        window, path = person.window, (home / "work" / "work.py").resolve()
        reply = next(iter(window.view.page.view.replies.shown.values()))
        for text in ("work.py:2", "the file"):
            click_text(reply, text)
            await until(editor.exists, "the editor")
            assert editor.take() == ["--goto", f"{path}:2"]
        click_text(reply, "a page")
        dialog = await until(lambda: window.findChild(QDialog, "link"), "a web page is asked about first")
        dialog.close()
        path.unlink()
        click_text(reply, "the file")
        await until(lambda: "There is no file" in person.notice(), "the error")

    live(qapp, home, act)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_a_changed_file_opens_by_mouse_and_by_keys(qapp: QApplication, home: Path, editor: Record) -> None:
    async def act(person: Person) -> None:
        await open_session(person)
        window, path = person.window, (home / "work" / "work.py").resolve()
        window.view.page.show_tab("changes")
        diff = find(window.view, DiffView, "changes.lines")
        await until(lambda: diff.isVisible() and diff.rows.rowCount(), "the diff")
        select_line(diff, 2)
        opens = find(window.view, QPushButton, "changes.open")

        def open_menu() -> None:
            position = diff.visualRect(diff.currentIndex()).center()
            right_click(diff.viewport(), position)
            pick(person, "changes.line.menu", "open")

        for opening in (partial(press, diff, Qt.Key.Key_O), partial(click, opens), open_menu):
            opening()
            await until(editor.exists, "the editor")
            assert editor.take() == ["--goto", f"{path}:2"]
        for command, expected in (("session.editor", path.parent), ("session.terminal", path.parent)):
            window.actions_by_id[command].trigger()
            await until(editor.exists, command)
            assert editor.take() == [str(expected)]

    live(qapp, home, act)


def right_click(where: QWidget, position: QPoint) -> None:
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, position, where.mapToGlobal(position))
    QApplication.sendEvent(where, event)


def click_text(reply: ReplyText, text: str) -> None:
    """Click the middle of a text in an answer."""
    cursor = reply.document().find(text)
    assert not cursor.isNull()
    cursor.setPosition(cursor.selectionStart() + len(text) // 2)
    click(reply.viewport(), reply.cursorRect(cursor).center())


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_shift_f10_opens_the_menu_of_the_selected_row(qapp: QApplication, home: Path, editor: Record) -> None:
    async def act(person: Person) -> None:
        await open_session(person)
        view = person.window.view.page.view
        view.setFocus()
        view.select(row_of(person, "write"))
        press(view, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
        pick(person, "row.menu", "file")
        await until(editor.exists, "the editor")

    live(qapp, home, act)
