"""What is announced on the Overview page: each selected session once, and the next one after another was cleared."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tests.ui.hands import press
from tests.ui.overview.test_page import ASKS, listed, start
from tests.ui.test_desktop_app import Person, activate, live, until
from ui.overview.board_groups import FAILED
from ui.overview.panel import OverviewPanel

FAILS = [{"fault": "rate_limited", "retry_after_s": 3600}]


async def open_page(person: Person) -> OverviewPanel:
    await until(lambda: person.window._bridge, "the engine")
    await activate(person.window)
    person.window.actions_by_id["page.overview"].trigger()
    page = person.window.pages.page("overview")
    assert isinstance(page, OverviewPanel)
    return page


def test_the_empty_page_says_so_and_cleared_sessions_lead_to_the_next(
    qapp: QApplication, home: Path, announcements: list[str]
) -> None:
    async def act(person: Person) -> None:
        page = await open_page(person)
        empty = "No session runs, waits for you, or has ended unseen."
        assert announcements == [empty]
        for number in (1, 2):
            await start(person, f"Fail {number}", FAILS)
        await until(lambda: len(listed(page, FAILED)) == 2, "two sessions that failed")
        announcements.clear()
        selected = page.board.selected_session
        press(page, Qt.Key.Key_X)
        assert page.board.selected_session not in ("", selected)
        assert announcements[0] == "Cleared 1 session." and announcements[1].startswith("Fail ")
        press(page, Qt.Key.Key_X)
        assert announcements[2:] == ["Cleared 1 session.", empty]

    live(qapp, home, act)


def test_a_selected_session_that_waits_is_announced_once(
    qapp: QApplication, home: Path, announcements: list[str]
) -> None:
    async def act(person: Person) -> None:
        for number in (1, 2):
            await start(person, f"Ask {number}", ASKS)
        await until(lambda: person.window.session_index.waiting_count() == 2, "two sessions that wait")
        page = await open_page(person)
        await until(lambda: page.asking.card is not None, "the card")
        announcements.clear()
        press(page, Qt.Key.Key_Down)
        await until(lambda: bool(announcements), "the announcement")
        assert len(announcements) == 1 and "asks: Which tone?" in announcements[0]

    live(qapp, home, act)
