"""The title of the window, and the announcement and the focus when a session is shown."""

import json
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from tests.ui.hands import click, find
from tests.ui.test_desktop_app import ASKS, Person, live, until
from ui.shell import window_title

DONE = json.dumps({"replies": [{"text": "Done."}]})
SLOW = json.dumps({"replies": [{"calls": [{"name": "run", "arguments": {"command": "sleep 600"}}]}]})


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which every announcement of a shown session is added."""
    texts = list[str]()
    monkeypatch.setattr(window_title, "announce", lambda _, text: texts.append(text))
    return texts


def test_after_a_restart_an_interrupted_session_is_announced_counted_and_has_the_focus(
    qapp: QApplication, home: Path, heard: list[str]
) -> None:
    async def leave(person: Person) -> None:
        window, session = person.window, await person.start(SLOW)()
        window.show_session(session)
        await until(lambda: window.row(session).activity_kind == "command", "the command runs")

    async def come_back(person: Person) -> None:
        window = person.window
        heard.clear()
        bar = window.view.page.bars[0]
        await until(lambda: person.shell.focusWidget() is bar, "the bar has the focus")
        assert bar.accessibleName().startswith("Interrupted — ")
        assert heard == ["Write it, interrupted"]
        await until(lambda: person.shell.windowTitle() == "(1) Write it – Journeyman", "the title")
        waiting = find(window, QPushButton, "status.waiting")
        await until(waiting.isVisible, "the count in the status line")
        assert waiting.accessibleName() == "1 waiting for you"
        window.inbox.fill()
        (entry,) = window.inbox.actions()
        assert entry.text().startswith("Write it:  interrupted")
        window.show_start()
        entry.trigger()
        assert person.shell.focusWidget() is bar
        click(find(window, QPushButton, "interrupted.abort"))
        await until(lambda: person.shell.windowTitle() == "Write it – Journeyman", "nothing waits any more")
        assert not waiting.isVisible()

    live(qapp, home, leave)
    live(qapp, home, come_back)


def test_after_a_restart_an_open_request_has_the_focus(qapp: QApplication, home: Path) -> None:
    async def leave(person: Person) -> None:
        person.window.show_session(await person.start(ASKS)())
        await until(person.card, "the card")

    async def come_back(person: Person) -> None:
        card = await until(lambda: person.window.view.asking.card, "the card")
        await until(lambda: card.isAncestorOf(person.shell.focusWidget()), "it has the focus")

    live(qapp, home, leave)
    live(qapp, home, come_back)


def test_the_title_names_what_is_shown_and_a_switch_is_announced_once(
    qapp: QApplication, home: Path, heard: list[str]
) -> None:
    async def act(person: Person) -> None:
        window, title = person.window, person.shell.windowTitle
        done, asking = await person.start(DONE)(), await person.start(ASKS)()
        await until(lambda: window.session_index.pending_in(asking), "the question")
        await until(lambda: window.row(done).status == "done", "the end")
        await until(lambda: title() == "(1) Journeyman", "nothing is shown yet")
        heard.clear()
        window.show_session(done)
        window.actions_by_id["session.1"].trigger()
        window.actions_by_id["question.next"].trigger()
        assert heard == ["Write it, done", "Write it, waiting for you"]
        window.selection.choose_page("memory")
        assert title() == "(1) Memory – Journeyman"
        window.selection.leave_page()
        assert len(heard) == 2, "the session is still the same"
        await person.program.engine.ask(lambda engine: engine.archive.rename(asking, "A letter\u202e\n" * 40))
        await until(lambda: title().startswith("(1) A letter"), "the new name")
        assert len(title()) < 80 and "\u202e" not in title() and "\n" not in title()
        assert title().endswith("… – Journeyman")

    live(qapp, home, act)


def test_switching_from_the_message_field_to_an_interrupted_session_focuses_the_choices(
    qapp: QApplication, home: Path
) -> None:
    names: list[str] = []

    async def leave(person: Person) -> None:
        names.extend([await person.start(SLOW)(), await person.start(DONE)()])
        await until(lambda: person.window.row(names[0]).activity_kind == "command", "the command runs")
        await until(lambda: person.window.row(names[1]).status == "done", "the end")

    async def come_back(person: Person) -> None:
        window = person.window
        await until(lambda: names[1] in window.session_index, "the sessions")
        window.show_session(names[1])
        window.view.composer.focus_input()
        window.show_session(names[0])
        assert person.shell.focusWidget() is window.view.page.bars[0]

    live(qapp, home, leave)
    live(qapp, home, come_back)
