"""Going to a request focuses its card in the real window, and a session opens on its steps."""

import json
from pathlib import Path

from PySide6.QtWidgets import QApplication, QScrollArea

from tests.ui.hands import find
from tests.ui.test_desktop_app import ASKS, Person, live, until
from ui.context.panel import ContextPanel


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


def test_the_shortcut_goes_to_the_request_on_display_before_that_of_another_session(
    qapp: QApplication, home: Path
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        older, newer = await person.start(ASKS)(), await person.start(ASKS)()
        window.show_session(newer)
        await until(person.card, "the card")
        window.view.composer.focus_input()
        next_request = window.actions_by_id["question.next"]
        next_request.trigger()
        card = window.view.asking.card
        assert window.selection.session == newer
        assert card is not None and card.isAncestorOf(window.window().focusWidget())
        next_request.trigger()
        assert window.selection.session == older

    live(qapp, home, act)


def test_a_session_started_from_another_tab_focuses_its_steps(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(json.dumps({"replies": [{"text": "Done."}]}))()
        window.show_session(session)
        await until(lambda: window.row(session).status == "done", "the end")
        window.view.go_to_tab("context")
        area = find(window.view, ContextPanel, "context").findChild(QScrollArea)
        await until(lambda: window.window().focusWidget() is area, "the tab has the focus")
        window.actions_by_id["run.new"].trigger()
        window.show_session(await person.start(ASKS)())
        assert window.window().focusWidget() is window.view.page.view and window.view.page.view.isVisible()

    live(qapp, home, act)
