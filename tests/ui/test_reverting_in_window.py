"""Reverting files in the real window when the folder of the session is gone or the session was imported."""

import json
import shutil
from pathlib import Path

from PySide6.QtWidgets import QApplication, QPushButton

from tests.core.exchange.test_importers import CLAUDE
from tests.ui.hands import click, find
from tests.ui.test_desktop import Person, live, until

WRITES = json.dumps(
    {
        "replies": [
            {"calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}}]},
            {"text": "Done."},
        ]
    }
)


def test_a_revert_in_a_missing_folder_is_refused_with_its_cause(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session, other = await person.start(WRITES)(), await person.start(WRITES)()
        await until(lambda: {window.row(name).status for name in (session, other)} == {"done"}, "both have ended")
        window.show_session(session)
        window.view.page.show_tab("changes")
        button = find(window.view, QPushButton, "changes.undo")
        await until(lambda: button.isVisible() and button.isEnabled(), "the button")
        shutil.rmtree(home / "work")
        click(button)
        await until(lambda: "cannot be opened" in person.notice().replace("\u200b", ""), "the cause")
        window.show_session(other)
        window.show_session(session)
        window.view.page.show_tab("changes")
        await until(lambda: not button.isEnabled(), "the button is disabled")
        assert "gone" in button.toolTip()
        assert not find(window.view, QPushButton, "changes.back").isEnabled()

    live(qapp, home, act)


def test_an_imported_session_offers_no_revert(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        session = (await person.program.engine.ask(lambda engine: engine.exchange.import_file(CLAUDE))).session
        await until(lambda: window.row(session).imported_from, "the imported session")
        window.show_session(session)
        window.view.page.show_tab("changes")
        await until(lambda: window.view.scan.done and window.view.scan.past.changed_files(), "its changes")
        for name in ("changes.undo", "changes.back", "changes.again"):
            assert not find(window.view, QPushButton, name).isVisible()

    live(qapp, home, act)
