"""Permission requests in the real window with the real engine: shown, allowed and denied."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton

from core.domain.events import RunStarted, SessionEvent
from core.domain.permissions import PermissionDecided, PermissionRequest, PermissionRequested
from core.domain.text import Text
from core.models.catalog import SCRIPTED
from tests.ui.ask.permissions import CHAIN, TWINS, pending_permission
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import Person, live, until
from ui.ask.cards import PermissionCard
from ui.ask.pending_permission import PendingPermission
from ui.ask.request_actions import read_current_text


async def wait_for_consent(person: Person, *requests: PendingPermission) -> str:
    """Start a session that waits for these requests, after answering the question of the demo script."""
    window = person.window
    session = await person.start()()
    window.show_session(session)
    await until(person.card, "the question")
    click(find(window.view, QPushButton, "question.later"))
    press(person.words(), Qt.Key.Key_X)
    click(find(window.view, QPushButton, "question.answer"))
    await until(lambda: person.shell.windowTitle() == "Write it – Journeyman", "no request is waiting")
    await until(lambda: window.row(session).status == "done", "the end of the run, which would close the requests")
    facts = [PermissionRequested(one.request, Text(one.arguments)) for one in requests]
    await person.program.engine.ask(lambda engine: engine._journal.append(session, *facts))
    await until(
        lambda: person.shell.windowTitle() == f"({len(requests)}) Write it – Journeyman", "the requests are waiting"
    )
    return session


async def decisions_of(person: Person, session: str) -> list[PermissionDecided]:
    async def read(engine: object) -> list[SessionEvent]:
        return [entry.event async for entry in engine.events(session)]  # type: ignore[attr-defined]

    events = await person.program.engine.ask(read)
    return [event for event in events if isinstance(event, PermissionDecided)]


def test_a_request_is_shown_everywhere_and_allowed_by_key(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await wait_for_consent(person, CHAIN)
        window.show_session(session)

        def card() -> PermissionCard:  # recreated whenever another request is added
            assert isinstance(window.view.asking.card, PermissionCard)
            return window.view.asking.card

        await until(lambda: window.view.asking.card, "the card")
        assert window.sessions.isVisible() and find(window, QPushButton, "status.waiting").isVisible()
        window.inbox.fill()
        assert "pip install" in window.inbox.actions()[0].text()
        await until(lambda: find(card(), QPushButton, "consent.allow").isEnabled(), "the button is enabled")
        press(card().form, Qt.Key.Key_A)
        await until(lambda: person.shell.windowTitle() == "Write it – Journeyman", "no request is waiting")
        [word] = await decisions_of(person, session)
        assert word.allowed and word.scope == "once" and word.decided_by == "user"
        assert not window.view.asking.isVisible() and person.notice() == ""

    live(qapp, home, act)


def test_similar_requests_are_allowed_together_each_by_its_id(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await wait_for_consent(person, *TWINS)
        card = await until(lambda: window.view.asking.card, "the card")
        click(find(card, QPushButton, "consent.together"))
        button = find(card, QPushButton, "consent.allow")
        assert isinstance(card, PermissionCard)
        form = card.form
        await until(lambda: form.delay.has_elapsed, "the button is enabled")
        press(card.form, Qt.Key.Key_End)
        await until(button.isEnabled, "the text was scrolled to its end")
        click(button)
        await until(lambda: person.shell.windowTitle() == "Write it – Journeyman", "no request is waiting")
        words = await decisions_of(person, session)
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
        await until(lambda: person.shell.windowTitle() == "Write it – Journeyman", "no request is waiting")
        [word] = await decisions_of(person, session)
        assert not word.allowed and word.reason.head == "use a venv"

    live(qapp, home, act)


@pytest.mark.parametrize(
    ("reason", "shown"), [("", "You did not allow this."), ("use a venv", "You did not allow this: use a venv")]
)
def test_the_row_of_a_denied_call_speaks_to_the_user(qapp: QApplication, home: Path, reason: str, shown: str) -> None:
    call = {"name": "run", "arguments": {"command": "curl https://example.org"}}
    script = json.dumps({"replies": [{"text": "", "calls": [call]}, {"text": "Done."}]})

    async def act(person: Person) -> None:
        window = person.window
        (home / "work").mkdir()
        task = RunStarted(SCRIPTED, script=Text(script), mode="ask-all")
        session = await person.program.engine.ask(lambda engine: engine.start("Write it", home / "work", task))
        window.show_session(session)
        card = await until(lambda: window.view.asking.card, "the card")
        press(card.form, Qt.Key.Key_D)
        field = find(card, QPlainTextEdit, "consent.reason")
        write(field, reason)
        press(field, Qt.Key.Key_Return)
        await until(lambda: window.row(session).status == "done", "the end")
        steps = window.view.page.model
        [refused] = [step for row in range(steps.count) if (step := steps.step_of_row(row)) and step.kind == "refused"]
        assert refused.object == f"run: {shown}"
        window.view.page.select_row(refused.row)
        window.step_pane.show_tab("output")
        output = find(window.step_pane, QPlainTextEdit, "step.output")
        await until(lambda: "The user did not allow this." in output.toPlainText(), "the text for the model")

    live(qapp, home, act)


def test_the_next_request_has_the_focus_after_one_is_allowed_by_key(qapp: QApplication, home: Path) -> None:
    commands = ("touch a.txt", "git push origin main")
    calls = [{"name": "run", "arguments": {"command": command}} for command in commands]
    script = json.dumps({"replies": [*({"text": "", "calls": [call]} for call in calls), {"text": "Done."}]})

    async def act(person: Person) -> None:
        window = person.window
        (home / "work").mkdir()
        task = RunStarted(SCRIPTED, script=Text(script), mode="ask-all")
        window.show_session(
            await person.program.engine.ask(lambda engine: engine.start("Write it", home / "work", task))
        )
        first = await until(lambda: window.view.asking.card, "the card")
        window.actions_by_id["question.next"].trigger()
        allow = find(first, QPushButton, "consent.allow")
        await until(allow.isEnabled, "the button is enabled")
        press(person.shell.focusWidget(), Qt.Key.Key_A)
        await until(lambda: window.view.asking.card not in (None, first), "the next request")
        second = window.view.asking.card
        assert second is not None
        assert second.isAncestorOf(person.shell.focusWidget())
        press(person.shell.focusWidget(), Qt.Key.Key_D)
        field = find(second, QPlainTextEdit, "consent.reason")
        assert person.shell.focusWidget() is field

    live(qapp, home, act)


def test_the_untrusted_content_of_a_run_is_named_in_words(qapp: QApplication, home: Path) -> None:
    commands = ("cat notes.txt", "touch b.txt")
    calls = [{"name": "run", "arguments": {"command": command}} for command in commands]
    calls.insert(0, {"name": "read", "arguments": {"path": "notes.txt"}})
    script = json.dumps({"replies": [*({"text": "", "calls": [call]} for call in calls), {"text": "Done."}]})
    (home / "work").mkdir(parents=True)
    (home / "work" / "notes.txt").write_text("Buy milk.\n")

    async def act(person: Person) -> None:
        window = person.window
        task = RunStarted(SCRIPTED, script=Text(script), mode="ask")
        session = await person.program.engine.ask(lambda engine: engine.start("Go", home / "work", task))
        window.show_session(session)
        card = await until(lambda: window.view.asking.card, "the card")
        shown = [part.text() for part in card.findChildren(QLabel)]
        assert "The run has read untrusted content: the output of commands, files of the folder" in shown

    live(qapp, home, act)


def test_the_reason_quotes_a_command_as_other_texts_do(qapp: QApplication, home: Path) -> None:
    call = {"name": "run", "arguments": {"command": "git push origin main"}}
    script = json.dumps({"replies": [{"text": "", "calls": [call]}, {"text": "Done."}]})

    async def act(person: Person) -> None:
        window = person.window
        window.show_session(await person.start(script)())
        card = await until(lambda: window.view.asking.card, "the card")
        shown = " ".join(part.text() for part in card.findChildren(QLabel))
        assert "“git push” cannot be undone." in shown and "`" not in shown

    live(qapp, home, act)


def test_the_mode_is_shown_and_changed_in_the_composer(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        window.show_session(await person.start()())
        button = find(window.view, QPushButton, "composer.mode")
        await until(lambda: button.text() == "Auto-approve, sandboxed", "the mode")
        menu = window.view.composer.mode_menu
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
    assert read_current_text(str(tmp_path / "work"), path) == ("was" if path == "a.txt" else "")


def test_a_whole_file_is_compared_with_its_current_contents(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    plain = pending_permission("write", "write", "a.txt", path="a.txt", content="one\nthree\n")
    values = {name: getattr(plain.request, name) for name in plain.request.__dataclass_fields__}
    there = PendingPermission(PermissionRequest(**values | {"cwd": str(tmp_path)}), plain.arguments, plain.asked_at)

    async def act(person: Person) -> None:
        await wait_for_consent(person, there)
        card = await until(lambda: person.window.view.asking.card, "the card")
        text = find(card, QPlainTextEdit, "consent.text")
        await until(lambda: "− two" in text.toPlainText(), "the difference")
        assert "  one" in text.toPlainText() and "+ three" in text.toPlainText()

    live(qapp, home, act)


def test_a_changed_call_is_decided_once_with_the_changed_arguments(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await wait_for_consent(person, CHAIN)
        card = await until(lambda: window.view.asking.card, "the card")
        await until(lambda: find(card, QPushButton, "consent.change").isEnabled(), "the call can be changed")
        click(find(card, QPushButton, "consent.change"))
        field = find(card, QPlainTextEdit, "consent.edit")
        field.selectAll()
        write(field, "pytest -q")
        click(find(card, QPushButton, "consent.allow"))
        await until(lambda: person.shell.windowTitle() == "Write it – Journeyman", "no request is waiting")
        [word] = await decisions_of(person, session)
        assert word.allowed and '"command": "pytest -q"' in word.arguments.head
        assert person.notice() == ""

    live(qapp, home, act)
