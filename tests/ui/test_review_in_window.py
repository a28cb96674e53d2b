"""Reviewing changes in the real window: comments are sent as one message, and the follow-up is shown beside."""

import json
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QTextBrowser

from tests.ui.hands import click, find, press, select_line, write
from tests.ui.test_desktop_app import Person, live, until
from ui.diff.diff_view import DiffView
from ui.widgets.labels import TextField

LETTER = "Dear Mr Harrow,\nI write about the damp.\nPlease repair it.\nYours,\nA. Berg\n"
EDIT = {"path": "letter.md", "old_string": "A. Berg\n", "new_string": "A. Berg\nFlat 4\n"}
SCRIPT = json.dumps(
    {
        "replies": [
            {"calls": [{"name": "read", "arguments": {"path": "letter.md"}}]},
            {"calls": [{"name": "edit", "arguments": EDIT}]},
            {"text": "I added the **flat**."},
        ]
    }
)
"""Each run adds a line to the letter."""


async def open_changes(person: Person, script: str = SCRIPT) -> tuple[str, DiffView]:
    window = person.window
    (person.home / "work").mkdir(exist_ok=True)
    (person.home / "work" / "letter.md").write_text(LETTER)
    session = await person.start(script)()
    await until(lambda: window.row(session).runs and window.row(session).status == "done", "its end")
    window.show_session(session)
    window.view.page.show_tab("changes")
    diff = find(window.view, DiffView, "changes.lines")
    await until(lambda: diff.isVisible() and diff.rows.rowCount(), "the diff")
    return session, diff


def added(diff: DiffView) -> list[str]:
    texts = [str(diff.rows.index(row, 0).data()) for row in range(diff.rows.rowCount())]
    return [text for text in texts if text.startswith("added")]


def comment_field(diff: DiffView) -> TextField:
    return next(each for each in diff.findChildren(TextField) if each.isVisible())


def test_comments_on_five_lines_are_sent_and_the_follow_up_is_shown(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session, diff = await open_changes(person)
        press(diff, Qt.Key.Key_X, Qt.KeyboardModifier.ShiftModifier)
        for number in range(1, 6):
            select_line(diff, number)
            press(diff, Qt.Key.Key_C)
            field = comment_field(diff) if number == 1 else person.shell.focusWidget()
            assert isinstance(field, TextField)
            write(field, f"Comment {number}")
            press(field, Qt.Key.Key_Return)
        assert find(window.view, QPushButton, "changes.send").text() == "Send 5 comments"
        press(diff, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        title, reply = (
            find(window.view, QLabel, "changes.reply.title"),
            find(window.view, QTextBrowser, "changes.reply"),
        )
        await until(lambda: window.row(session).runs == 2 and window.row(session).status == "done", "the follow-up")
        await until(lambda: reply.isVisible() and "I added the flat." in reply.toPlainText(), "the reply")
        assert title.isVisible() and title.text() == "Reply to your comments"
        await until(lambda: added(diff) == ["added 6: Flat 4", "added 7: Flat 4"], "the changes follow the agent")
        message = window.view.page.model.last_message()
        assert message is not None
        text = window.view.page.model.message_contents(message).text
        places = [line for line in text.splitlines() if line.startswith("letter.md:")]
        assert places == [f"letter.md:{number}" for number in range(1, 6)]
        assert all(f"Comment {number}" in text for number in range(1, 6))
        click(find(window.view, QPushButton, "changes.reply.close"))
        assert not title.isVisible() and not diff.rows.comment_rows()

    live(qapp, home, act)


def test_a_later_message_does_not_replace_the_reply_to_the_comments(qapp: QApplication, home: Path) -> None:
    wait = {"name": "run", "arguments": {"command": "while [ ! -e go ]; do sleep 0.05; done"}}
    edit = {"name": "edit", "arguments": EDIT}
    script = json.dumps({"replies": [{"calls": [wait]}, {"calls": [edit]}, {"text": "I added the flat."}]})

    async def act(person: Person) -> None:
        window, go = person.window, person.home / "work" / "go"
        go.parent.mkdir(exist_ok=True)
        go.touch()
        session, diff = await open_changes(person, script)
        press(diff, Qt.Key.Key_X, Qt.KeyboardModifier.ShiftModifier)
        select_line(diff, 1)
        press(diff, Qt.Key.Key_C)
        write(comment_field(diff), "Why?")
        press(comment_field(diff), Qt.Key.Key_Return)
        press(diff, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        title = find(window.view, QLabel, "changes.reply.title")
        reply = find(window.view, QTextBrowser, "changes.reply")
        await until(lambda: window.row(session).runs == 2 and window.row(session).status == "done", "the reply")
        go.unlink()
        await person.program.engine.ask(lambda e: e.send_message(session, "Something else"))
        await until(lambda: window.row(session).runs == 3 and window.row(session).status == "running", "another run")
        assert title.isVisible() and title.text() == "Reply to your comments"
        assert "I added the flat." in reply.toPlainText()
        go.touch()
        await until(lambda: window.row(session).status == "done", "its end")

    live(qapp, home, act)


def test_comments_and_kept_hunks_survive_a_restart(qapp: QApplication, home: Path) -> None:
    async def comment(person: Person) -> None:
        _, diff = await open_changes(person)
        select_line(diff, 6)
        press(diff, Qt.Key.Key_C)
        write(comment_field(diff), "Half a")

    async def look(person: Person) -> None:
        window = person.window
        await until(lambda: window.view.session and window.view.isVisible(), "the last session")
        window.view.page.show_tab("changes")
        diff = find(window.view, DiffView, "changes.lines")
        await until(lambda: diff.isVisible() and diff.rows.comment_rows(), "the comment")
        assert comment_field(diff).toPlainText() == "Half a"
        window.remove_sessions([window.view.session])
        assert not any(name.startswith("reviews/") for name in person.state._stored)

    live(qapp, home, comment)
    live(qapp, home, look)


def test_a_deleted_comment_returns_with_the_shortcut_of_the_notification(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        _, diff = await open_changes(person)
        select_line(diff, 6)
        press(diff, Qt.Key.Key_C)
        field = comment_field(diff)
        write(field, "Why?")
        press(field, Qt.Key.Key_Return)
        press(diff, Qt.Key.Key_Delete)
        assert not diff.rows.comment_rows() and window.toast.can_undo
        await until(window.actions_by_id["toast.undo"].isEnabled, "Undo is enabled")
        window.actions_by_id["toast.undo"].trigger()
        assert comment_field(diff).toPlainText() == "Why?"

    live(qapp, home, act)
