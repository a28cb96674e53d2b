"""The visible request takes its keys in the real window, and a session opens on its steps."""

import json
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from core.domain.events import RunStarted
from core.domain.text import Text
from core.models.catalog import SCRIPTED
from tests.ui.hands import find, press
from tests.ui.test_desktop import ASKS, Person, live, until
from ui.ask.cards import PermissionCard

WRITES = json.dumps(
    {
        "replies": [
            {"calls": [{"name": "write", "arguments": {"path": f"{name}.txt", "content": name}}]} for name in "ab"
        ]
        + [{"text": "Done."}]
    }
)


def test_the_next_request_takes_its_keys_after_the_first_was_allowed(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, folder = person.window, home / "work"
        folder.mkdir()
        start = RunStarted(SCRIPTED, script=Text(WRITES), mode="ask", interactive=True)
        session = await person.program.engine.ask(lambda engine: engine.start("Write", folder, start))
        window.show_session(session)
        field = find(window.view, QPlainTextEdit, "composer.input")
        for name in "ab":

            def card(name: str = name) -> PermissionCard | None:
                current = window.view.asking.card
                shown = isinstance(current, PermissionCard) and name in current.pending[0].arguments
                return current if shown and current.form.isVisible() else None

            await until(card, f"the request for {name}")
            window.view.page.focus_tab()
            await until(lambda card=card: (request := card()) and request.form.can_allow(), "it can be allowed")
            press(window.view.page.view, Qt.Key.Key_A)
            await until(lambda name=name: (folder / f"{name}.txt").exists(), f"{name} is written")
        assert field.toPlainText() == ""

    live(qapp, home, act)


def test_going_to_a_request_shows_its_card_and_a_new_session_its_steps(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(ASKS)()
        window.show_session(session)
        await until(person.card, "the card")
        window.view.page.show_tab("context")
        window.actions_by_id["question.next"].trigger()
        assert window.view.page.current_tab == "steps"
        card = window.view.asking.card
        assert card is not None and card.form.isVisible() and card.isAncestorOf(window.window().focusWidget())
        window.view.page.show_tab("changes")
        window.show_session(await person.start(ASKS)())
        assert window.view.page.current_tab == "steps"
        window.show_session(session)
        assert window.view.page.current_tab == "changes"

    live(qapp, home, act)
