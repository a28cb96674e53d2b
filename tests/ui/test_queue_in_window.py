"""Messages queued while a question is open, in the real window: both stay visible."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton

from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop import Person, live, until


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
