"""Pages stand in the place of a session: marked, left, kept, asked about before the window closes."""

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QPushButton, QWidget

from tests.core.store.made import fill
from tests.ui.hands import click, find, press
from tests.ui.test_desktop import Person, live, until
from ui.page import Page
from ui.panels import PANELS, Panel
from ui.sessions.foot_button import FootButton


class Notes(Page):
    """A page with words that nobody has kept."""

    def unsaved(self) -> str:
        return "two words"


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.id)
def test_a_page_is_opened_marked_and_left_by_escape(qapp: QApplication, home: Path, panel: Panel) -> None:
    name = panel.id
    (session,) = fill(home / "journeyman.db")

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session == session, "the session")
        window.actions_by_id[f"page.{name}"].trigger()
        page = find(window, QWidget, f"page.{name}")
        assert page.isVisible() and not window.view.isVisible() and not window.pane.isVisible()
        assert not window.actions_by_id["run.find"].isEnabled()
        if panel.listed:
            assert find(window, FootButton, f"sessions.{name}").accessibleDescription() == "Shown now"
        press(window.window().focusWidget(), Qt.Key.Key_Escape)
        assert window.view.isVisible() and not page.isVisible()
        assert window.actions_by_id["run.find"].isEnabled()
        window.actions_by_id[f"page.{name}"].trigger()
        window.go_to(session)
        assert window.view.isVisible() and window.selection.page == ""

    live(qapp, home, act)


def test_the_page_shown_last_is_there_after_a_restart(qapp: QApplication, home: Path) -> None:
    fill(home / "journeyman.db")

    async def choose(person: Person) -> None:
        await until(lambda: person.window.selection.session, "the session")
        click(find(person.window, FootButton, "sessions.usage"))
        assert person.window.selection.page == "usage"

    async def again(person: Person) -> None:
        await until(lambda: person.window.selection.page == "usage", "the page")
        assert find(person.window, QWidget, "page.usage").isVisible()

    live(qapp, home, choose)
    live(qapp, home, again)


def test_a_page_folds_the_sidebar_while_it_is_shown(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.start.isVisible(), "the start screen")
        window.selection.choose_page("usage")
        window.pages.page("usage").fold_wanted.emit(True)
        assert not window.sessions.isVisible()
        window.selection.leave_page()
        assert window.sessions.isVisible()

    live(qapp, home, act)


def test_what_a_page_has_not_kept_is_asked_about_before_the_window_closes(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.start.isVisible(), "the start screen")
        window.pages._built["usage"] = Notes()
        window.pages.addWidget(window.pages._built["usage"])
        person.shell.close()
        assert person.shell.isVisible() and window.selection.page == "usage"
        asked = find(person.shell, QDialog, "confirm")
        assert "two words" in find(asked, QLabel, "confirm.text").text()
        click(find(asked, QPushButton, "confirm.cancel"))
        assert person.shell.isVisible()
        person.shell.close()
        await asyncio.sleep(0)
        asked = next(one for one in person.shell.findChildren(QDialog, "confirm") if one.isVisible())
        click(find(asked, QPushButton, "confirm.yes"))
        assert not person.shell.isVisible()

    live(qapp, home, act)


def test_a_page_that_wants_room_does_not_take_it_for_the_next(qapp: QApplication, home: Path) -> None:
    """One that was open before is seen for a moment when the pages come forward, as narrow as the run was."""

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        person.shell.resize(1440, 872)
        session = await person.start()()
        window.selection.choose_page("memory")
        await until(window.sessions.isVisible, "room for both")
        for _ in range(2):
            window.go_to(session)
            await until(lambda: window.pane.isVisible() and window.desk.width() < 900, "the step takes room")
            window.selection.choose_page("usage")
            await until(lambda: window.pages.isVisible() and window.pages.width() > 1_000, "the page")
            assert window.sessions.isVisible()
            window.selection.choose_page("memory")
            await until(window.sessions.isVisible, "room for both")

    live(qapp, home, act)
