"""An error above the session disappears when the action succeeds, or when the session goes on without it."""

import asyncio
import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit

from tests.ui.hands import find, write
from tests.ui.skills.test_page import opened, wait_until_open
from tests.ui.test_desktop_app import Person, live, until
from tests.ui.test_new_session_in_window import begin, set_model
from ui.base.tasks import ErrorSource
from ui.settings.settings_dialog import SettingsDialog
from ui.usage.panel import UsagePanel

SCRIPT = '{"replies": [{"text": "Done."}], "then": "repeat_last"}'


async def finished_session(person: Person) -> str:
    await until(person.window.start.isVisible, "the start screen")
    session = await person.start(SCRIPT)()
    await until(lambda: person.window.row(session).runs and person.window.row(session).status == "done", "its end")
    return session


def send(person: Person, text: str) -> None:
    write(find(person.window.view, QPlainTextEdit, "composer.input"), text)
    person.window.view.composer.submit()


def test_the_error_of_a_message_disappears_when_it_is_sent(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        first, second = await finished_session(person), await finished_session(person)
        window.show_session(first)
        shutil.rmtree(home / "work")
        send(person, "go on")
        await until(person.notice, "the error")
        (home / "work").mkdir()
        window.show_session(second)
        send(person, "another")
        await until(lambda: window.row(second).runs == 2 and window.row(second).status == "done", "the other message")
        assert person.notice(), "the message of the first session has still not been sent"
        window.show_session(first)
        window.view.composer.submit()  # the text is back in the composer
        await until(lambda: not person.notice(), "the error is gone")
        await until(lambda: window.row(first).runs == 2, "the message")

    live(qapp, home, act)


def test_the_error_of_an_action_disappears_when_its_session_goes_on(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, session = person.window, await finished_session(person)
        window.show_session(session)
        window.view.page.pause.emit()  # the run has just ended
        await until(lambda: "not active" in person.notice(), "the error")
        send(person, "go on")
        await until(lambda: not person.notice(), "the error is gone")

    live(qapp, home, act)


@pytest.mark.parametrize("left", [False, True])
def test_the_error_of_an_export_disappears_when_it_succeeds_or_its_page_is_left(
    qapp: QApplication, home: Path, left: bool
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        window.selection.choose_page("usage")
        page = window.pages.page("usage")
        assert isinstance(page, UsagePanel)
        page.write(str(home / "missing" / "usage.csv"))
        await until(lambda: "could not be exported" in person.notice(), "the error")
        if left:
            window.selection.leave_page()
        else:
            page.write(str(home / "usage.csv"))
        await until(lambda: not person.notice(), "the error is gone")

    live(qapp, home, act)


def test_the_error_of_a_skill_disappears_when_the_page_is_left(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        page = await opened(person)
        page._actions.create("minutes", "")
        await wait_until_open(page, "library/minutes")
        page.view.replace_text("no front matter", 1)
        page.save()
        await until(lambda: "not valid" in person.notice(), "the error")
        person.window.selection.leave_page()
        assert not person.notice()

    live(qapp, home, act)


def test_the_error_of_a_setting_disappears_when_it_is_set(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        window.settings_requested.emit()
        dialog = await until(lambda: window.findChild(SettingsDialog), "the settings")
        footer = find(dialog, QLabel, "settings.said")
        dialog.changed.emit("prompt_size", "no such size")
        await until(footer.text, "the error")
        dialog.resolve_error(ErrorSource("set theme"))
        assert footer.text(), "another setting was set"
        dialog.changed.emit("prompt_size", "full")
        await until(lambda: "Saved" in footer.text(), "the error is gone")
        dialog.close()
        await asyncio.sleep(0)

    live(qapp, home, act)


def test_the_error_of_an_attachment_disappears_when_the_session_has_started(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, folder = person.window, home / "work"
        await until(window.start.isVisible, "the start screen")
        folder.mkdir()
        window.start.form.attached.add_paths([str(home / "missing.png")])
        await until(person.notice, "the error")
        await person.program.engine.ask(set_model)
        await begin(window, folder)
        session = await until(lambda: window.selection.session, "the session")
        await until(lambda: not person.notice(), "the error is gone")
        window.actions_by_id["run.stop"].trigger()
        await until(lambda: window.row(session).status not in {"running", "waiting"}, "the end of the run")

    live(qapp, home, act)
