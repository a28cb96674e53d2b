"""Messages queued while a question is open, in the real window: both stay visible."""

import json
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QWidget

from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import ASK, Person, live, until


def test_queued_messages_are_listed_beside_a_question_and_recorded_in_the_run(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start()()
        window.show_session(session)
        await until(person.card, "the question")
        asked = window.row(session).updated_at
        model, composer = window.view.page.model, window.view.composer
        field = find(composer, QPlainTextEdit, "composer.input")

        def everything() -> list[str]:
            return [str(model.index(place, 0).data()) for place in range(model.rowCount())]

        def said() -> list[str]:
            return [row for row in everything() if row.startswith(("Queued", "Removed", "You said"))]

        write(field, "and shorter")
        press(field, Qt.Key.Key_Return)
        await until(lambda: said() == ["You said Write it", "Queued and shorter"], "it waits")
        click(await until(lambda: composer.findChild(QPushButton, "composer.queued.1.remove"), "its card"))
        await until(lambda: said()[1] == "Removed and shorter", "it was removed")
        row = window.row(session)
        assert (row.status, row.activity_kind, row.activity, row.updated_at) == (
            "waiting",
            "question",
            "Which tone?",
            asked,
        )
        click(find(window.view, QPushButton, "run.stop"))
        await until(lambda: any("Not answered Which tone?" in row for row in everything()), "nobody answered")
        assert person.notice() == ""

    live(qapp, home, act)


def test_a_queued_message_is_shown_once_and_then_where_the_conversation_goes_on_with_it(
    qapp: QApplication, home: Path
) -> None:
    script = json.dumps({"replies": [{"text": "I ask.", "calls": [ASK]}, {"text": " \n"}, {"text": "Done."}]})

    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(script)()
        window.show_session(session)
        await until(person.card, "the question")
        view, model, composer = window.view.page.view, window.view.page.model, window.view.composer

        def drawn() -> list[str]:
            places = range(model.rowCount())
            return [str(model.index(at, 0).data()) for at in places if view.rowHeight(at) > 0]

        field = find(composer, QPlainTextEdit, "composer.input")
        write(field, "and shorter")
        press(field, Qt.Key.Key_Return)
        await until(lambda: composer.findChild(QPushButton, "composer.queued.1.remove"), "its card")
        await until(lambda: model.rowCount() > 4, "its row")
        assert not [row for row in drawn() if "shorter" in row], "it is not drawn in the steps as well"
        click(find(window.view, QWidget, "question.option.1"))
        click(find(window.view, QPushButton, "question.answer"))
        await until(lambda: window.row(session).status == "done", "the run has ended")
        await until(lambda: "You said and shorter" in drawn(), "the message")
        rows = drawn()
        answered = [at for at, row in enumerate(rows) if "You answered" in row]
        assert rows.count("You said and shorter") == 1 and answered, rows
        assert rows.index("You said and shorter") > answered[0]
        assert len([row for row in rows if row.startswith("Replied")]) == 1, "a blank reply leaves no band"

    live(qapp, home, act)


def test_a_message_that_starts_a_run_is_shown_although_the_steps_were_scrolled_up(
    qapp: QApplication, home: Path
) -> None:
    long_reply = {"text": "\n\n".join(f"Paragraph {number}" for number in range(80))}

    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(json.dumps({"replies": [long_reply, {"text": "Short."}]}))()
        window.show_session(session)
        await until(lambda: window.row(session).runs and window.row(session).status == "done", "the first run")
        view, field = window.view.page.view, find(window.view.composer, QPlainTextEdit, "composer.input")
        await until(lambda: view.verticalScrollBar().maximum() > 0, "a long list")
        view.setFocus()
        press(view, Qt.Key.Key_Home)
        assert not view.following
        write(field, "and shorter")
        press(field, Qt.Key.Key_Return)
        await until(lambda: window.row(session).runs == 2 and window.row(session).status == "done", "the second run")
        await until(lambda: view.following and view.verticalScrollBar().value() > 0, "the new run")

    live(qapp, home, act)
