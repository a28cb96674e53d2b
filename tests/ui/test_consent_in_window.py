"""A request for consent in the real window, over the real engine: shown everywhere, allowed, denied, changed."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton

from core.domain.consent import ConsentAsked, ConsentGiven, ConsentRequest
from core.domain.events import RunEvent
from core.domain.text import Text
from tests.ui.ask.consents import CHAIN, TWINS, wanted
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop import Person, live, until
from ui.ask.card import ConsentCard
from ui.ask.wanted import Wanted
from ui.session_wishes import held_now


async def wait_for_consent(person: Person, *requests: Wanted) -> str:
    """A session that waits for these, and for a question that was asked before."""
    window = person.window
    session = await person.start()()
    window.go_to(session)
    await until(person.card, "the question")
    click(find(window.view, QPushButton, "question.later"))
    press(person.words(), Qt.Key.Key_X)
    click(find(window.view, QPushButton, "question.answer"))
    await until(lambda: person.shell.windowTitle() == "Journeyman", "nothing waits")
    facts = [ConsentAsked(one.request, Text(one.arguments)) for one in requests]
    await person.program.engine.ask(lambda engine: engine._journal.append(session, *facts))
    await until(lambda: person.shell.windowTitle() == f"({len(requests)}) Journeyman", "they wait")
    return session


async def given(person: Person, session: str) -> list[ConsentGiven]:
    async def read(engine: object) -> list[RunEvent]:
        return [entry.event async for entry in engine.entries(session)]  # type: ignore[attr-defined]

    events = await person.program.engine.ask(read)
    return [event for event in events if isinstance(event, ConsentGiven)]


def test_it_waits_everywhere_and_a_key_allows_it(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await wait_for_consent(person, CHAIN)
        window.go_to(session)

        def card() -> ConsentCard:  # it is made anew when more is asked
            assert isinstance(window.view.asking.card, ConsentCard)
            return window.view.asking.card

        await until(lambda: window.view.asking.card, "the card")
        assert window.sessions.isVisible() and find(window, QPushButton, "status.waiting").isVisible()
        window.inbox.fill()
        assert "pip install" in window.inbox.actions()[0].text()
        await until(lambda: find(card(), QPushButton, "consent.allow").isEnabled(), "the moment has passed")
        press(card().form, Qt.Key.Key_A)
        await until(lambda: person.shell.windowTitle() == "Journeyman", "nothing waits")
        [word] = await given(person, session)
        assert word.allowed and word.scope == "once" and word.by == "person"
        assert not window.view.asking.isVisible() and person.notice() == ""

    live(qapp, home, act)


def test_like_ones_are_allowed_together_and_each_by_its_name(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await wait_for_consent(person, *TWINS)
        card = await until(lambda: window.view.asking.card, "the card")
        click(find(card, QPushButton, "consent.together"))
        button = find(card, QPushButton, "consent.allow")
        assert isinstance(card, ConsentCard)
        form = card.form
        await until(lambda: form.arming.is_armed, "the moment has passed")
        press(card.form, Qt.Key.Key_End)
        await until(button.isEnabled, "all of it was seen")
        click(button)
        await until(lambda: person.shell.windowTitle() == "Journeyman", "nothing waits")
        words = await given(person, session)
        assert {word.request_id for word in words} == {twin.id for twin in TWINS}
        assert person.notice() == ""

    live(qapp, home, act)


def test_a_denial_carries_its_reason(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await wait_for_consent(person, CHAIN)
        card = await until(lambda: window.view.asking.card, "the card")
        press(card.form, Qt.Key.Key_D)
        field = find(card, QPlainTextEdit, "consent.reason")
        write(field, "use a venv")
        press(field, Qt.Key.Key_Return)
        await until(lambda: person.shell.windowTitle() == "Journeyman", "nothing waits")
        [word] = await given(person, session)
        assert not word.allowed and word.reason.head == "use a venv"

    live(qapp, home, act)


def test_the_mode_is_shown_and_changed_in_the_composer(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        window.go_to(await person.start()())
        button = find(window.view, QPushButton, "composer.mode")
        await until(lambda: button.text() == "Trust this folder", "the mode")
        menu = window.view.composer.menu_of_modes
        names = [action.text().partition("\t") for action in menu.actions()]
        assert len(names) == 5 and all(line for _, _, line in names)
        next(action for action in menu.actions() if action.data() == "plan").trigger()
        await until(lambda: button.text() == "Plan only", "the new mode")
        assert person.notice() == ""

    live(qapp, home, act)


@pytest.mark.parametrize("path", ["a.txt", "gone.txt", "../outside", "."])
def test_only_a_file_of_the_folder_is_compared(tmp_path: Path, path: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "work" / "a.txt").write_text("was")
    assert held_now(str(tmp_path / "work"), path) == ("was" if path == "a.txt" else "")


def test_a_whole_file_is_compared_with_what_is_there(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    plain = wanted("write", "writes", "a.txt", path="a.txt", content="one\nthree\n")
    values = {name: getattr(plain.request, name) for name in plain.request.__dataclass_fields__}
    there = Wanted(ConsentRequest(**values | {"cwd": str(tmp_path)}), plain.arguments, plain.asked)

    async def act(person: Person) -> None:
        await wait_for_consent(person, there)
        card = await until(lambda: person.window.view.asking.card, "the card")
        text = find(card, QPlainTextEdit, "consent.text")
        await until(lambda: "− two" in text.toPlainText(), "the difference")
        assert "  one" in text.toPlainText() and "+ three" in text.toPlainText()

    live(qapp, home, act)
