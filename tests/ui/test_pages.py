"""Pages in the central area: opening, leaving, keeping their state, and unsaved changes on closing."""

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QLineEdit, QPushButton, QWidget

from tests.core.store.made import fill
from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, live, until
from ui.base.panel_page import PanelPage
from ui.sessions.footer_button import FooterButton
from ui.shell.page_registry import PAGES, PageSpec


class Notes(PanelPage):
    """A page with unsaved changes."""

    def unsaved_changes(self) -> str:
        return "two words"


@pytest.mark.parametrize("panel", PAGES, ids=lambda panel: panel.id)
def test_a_page_is_opened_marked_and_left_by_escape(qapp: QApplication, home: Path, panel: PageSpec) -> None:
    name = panel.id
    (session,) = fill(home / "journeyman.db")

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session == session, "the session")
        window.actions_by_id[f"page.{name}"].trigger()
        page = find(window, QWidget, f"page.{name}")
        assert page.isVisible() and not window.view.isVisible() and not window.step_pane.isVisible()
        assert not window.actions_by_id["run.find"].isEnabled()
        if panel.listed:
            assert find(window, FooterButton, f"sessions.{name}").accessibleDescription() == "Current page"
        if window.commands.palette.isVisible():  # with the sessions to compare with
            press(window.window().focusWidget(), Qt.Key.Key_Escape)
        press(window.window().focusWidget(), Qt.Key.Key_Escape)
        assert window.view.isVisible() and not page.isVisible()
        assert window.actions_by_id["run.find"].isEnabled()
        window.actions_by_id[f"page.{name}"].trigger()
        window.show_session(session)
        assert window.view.isVisible() and window.selection.page == ""

    live(qapp, home, act)


def test_the_last_page_is_restored_after_a_restart(qapp: QApplication, home: Path) -> None:
    fill(home / "journeyman.db")

    async def choose(person: Person) -> None:
        await until(lambda: person.window.selection.session, "the session")
        click(find(person.window, FooterButton, "sessions.usage"))
        assert person.window.selection.page == "usage"

    async def again(person: Person) -> None:
        await until(lambda: person.window.selection.page == "usage", "the page")
        assert find(person.window, QWidget, "page.usage").isVisible()

    live(qapp, home, choose)
    live(qapp, home, again)


def test_a_page_collapses_the_sidebar_while_it_is_shown(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.start.isVisible(), "the start screen")
        window.selection.choose_page("usage")
        window.pages.page("usage").sidebar_fold_requested.emit(True)
        assert not window.sessions.isVisible()
        window.selection.leave_page()
        assert window.sessions.isVisible()

    live(qapp, home, act)


def test_unsaved_changes_of_a_page_are_asked_about_before_the_window_closes(qapp: QApplication, home: Path) -> None:
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


def test_a_wide_page_does_not_widen_the_next(qapp: QApplication, home: Path) -> None:
    """The previous page is visible for a moment, at the width of the session, when the pages are shown."""

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        person.shell.resize(1440, 872)
        session = await person.start()()
        window.selection.choose_page("memory")
        await until(window.sessions.isVisible, "room for both")
        for _ in range(2):
            window.show_session(session)
            await until(lambda: window.step_pane.isVisible() and window.split_view.width() < 900, "the step takes room")
            window.selection.choose_page("usage")
            await until(lambda: window.pages.isVisible() and window.pages.width() > 1_000, "the page")
            assert window.sessions.isVisible()
            window.selection.choose_page("memory")
            await until(window.sessions.isVisible, "room for both")

    live(qapp, home, act)


def test_comparing_one_session_lets_the_user_choose_the_other_one(qapp: QApplication, home: Path) -> None:
    fill(home / "journeyman.db", sessions=2)

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session, "a session")
        window.view.setFocus()
        window.commands.compare()
        palette, first = window.commands.palette, window.selection.session
        field = find(palette, QLineEdit, "palette.field")
        assert palette.isVisible() and window.window().focusWidget() is field
        press(field, Qt.Key.Key_Return)
        await until(lambda: find(window, QLabel, "compare.said").text().startswith("Both"), "the comparison")
        assert window.pages.page("compare").isVisible() and first

    live(qapp, home, act)
