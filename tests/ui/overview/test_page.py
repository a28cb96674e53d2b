"""The Overview page in the complete program: ten sessions are found, answered and cleared, by mouse and by keyboard."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from core.domain.events import RunStarted
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.models import retry
from core.models.catalog import SCRIPTED
from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, activate, live, until
from ui.overview.board_groups import FAILED, FINISHED, RUNNING, WAITING, BoardEntry, group_board
from ui.overview.board_row import BoardRow
from ui.overview.panel import OverviewPanel
from ui.style.icons import pixmap
from ui.style.theme import Look

QUESTION = {"question": "Which tone?", "options": [{"label": "Firm"}, {"label": "Kind"}]}
ASKS = [{"text": "I ask.", "calls": [{"name": "ask_user", "arguments": QUESTION}]}]
WAIT = {"command": "while [ ! -e go ]; do sleep 0.1; done"}
WAITS = [{"text": "I wait.", "calls": [{"name": "run", "arguments": WAIT}]}]
FAILS = [{"fault": "server_error"}] * 8
DONE = [{"text": "All **done**."}]


async def start(person: Person, title: str, replies: Sequence[object]) -> str:
    folder = person.home / "work"
    folder.mkdir(exist_ok=True)
    script = Text(json.dumps({"replies": replies}))
    return await person.program.engine.ask(
        lambda engine: engine.start(title, folder, RunStarted(SCRIPTED, script=script, mode="auto"))
    )


async def ten_sessions(person: Person) -> OverviewPanel:
    """Start four sessions that ask, three that fail and three that run, and open the page."""
    window = person.window
    await until(lambda: window._bridge, "the engine")
    for number in range(4):
        await start(person, f"Ask {number}", [*ASKS, *DONE])
    for number in range(3):
        await start(person, f"Fail {number}", FAILS)
    for number in range(3):
        await start(person, f"Work {number}", [*WAITS, *DONE])

    def ready() -> bool:
        states = [row.status for row in window.session_index.all_rows()]
        return [states.count(status) for status in ("waiting", "failed", "running")] == [4, 3, 3]

    await until(ready, "ten sessions")
    await activate(window)
    window.actions_by_id["page.overview"].trigger()
    page = window.pages.page("overview")
    assert isinstance(page, OverviewPanel)
    await until(
        lambda: "4 waiting for you · 3 running · 3 failed" in find(page, QLabel, "overview.counts").text(), "all"
    )
    return page


def next_question(page: OverviewPanel, left: int) -> bool:
    return len(listed(page, WAITING)) == left and page.asking.card is not None


def row(page: OverviewPanel, session: str) -> BoardRow:
    return find(page, BoardRow, f"overview.session.{session}")


def place(page: OverviewPanel, session: str) -> int:
    return page.board.sessions().index(session)


def listed(page: OverviewPanel, group: str) -> list[str]:
    return page.board.sessions(group)


@pytest.mark.parametrize("by", ["mouse", "keys"])
def test_ten_sessions_are_answered_and_cleared(
    qapp: QApplication, home: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(retry, "INITIAL_DELAY_S", 0.001)

    async def act(person: Person) -> None:
        page, window = await ten_sessions(person), person.window
        assert page.window().focusWidget() is page
        if by == "keys":
            press(page, Qt.Key.Key_Return)
        for left in range(4, 0, -1):
            await until(partial(next_question, page, left), "the next question")
            assert page.asking.card is not None
            if by == "mouse":
                click(find(page.asking, QWidget, "question.option.2"))
                click(find(page.asking, QPushButton, "question.answer"))
                continue
            await until(lambda: page.asking.isAncestorOf(page.window().focusWidget()), "the keyboard is in the card")
            press(page.window().focusWidget(), Qt.Key.Key_2)
            press(page.window().focusWidget(), Qt.Key.Key_Return)
        await until(lambda: not listed(page, WAITING) and len(listed(page, FINISHED)) == 4, "all are answered")
        answers = [row.status for row in window.session_index.all_rows() if row.title.startswith("Ask")]
        assert answers == ["done"] * 4
        for left in range(3, 0, -1):
            failed = listed(page, FAILED)
            assert len(failed) == left
            if by == "mouse":
                click(find(row(page, failed[0]), QPushButton, "overview.row.clear"))
                continue
            page.setFocus()
            for _ in page.board.sessions():
                if page.board.selected_session != failed[0]:
                    below = place(page, failed[0]) > place(page, page.board.selected_session)
                    press(page, Qt.Key.Key_Down if below else Qt.Key.Key_Up)
            press(page, Qt.Key.Key_X)
        assert not listed(page, FAILED) and len(listed(page, RUNNING)) == 3
        click(find(page, QPushButton, "overview.clear"))
        assert not listed(page, FINISHED) and not window.unseen.ids
        window.toast.undo()
        assert len(listed(page, FINISHED)) == 4
        (home / "work" / "go").touch()
        await until(lambda: len(listed(page, FINISHED)) == 7, "the others end")
        last = row(page, listed(page, FINISHED)[0])
        assert "All done." in last.accessibleName() or "All **done**." in last.accessibleName()
        opened = listed(page, FINISHED)[0]
        last.open_requested.emit(opened)
        await until(lambda: opened not in window.unseen.ids, "it is seen once it is opened")

    live(qapp, home, act)


def test_a_session_that_waits_is_selected_when_the_page_opens(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        work = await start(person, "Work", [*WAITS, *DONE])
        await activate(window)
        window.actions_by_id["page.overview"].trigger()
        page = window.pages.page("overview")
        assert isinstance(page, OverviewPanel)
        await until(lambda: page.board.selected_session == work, "the only session")
        ask = await start(person, "Ask", [*ASKS, *DONE])
        await until(lambda: listed(page, WAITING) == [ask], "a session that waits")
        assert page.board.selected_session == work  # nothing is moved under the user's hands
        page.activate(())
        assert page.board.selected_session == ask
        press(page, Qt.Key.Key_End)
        assert page.board.selected_session == work
        press(page, Qt.Key.Key_Home)
        assert page.board.selected_session == ask
        (person.home / "work" / "go").touch()
        await until(lambda: not listed(page, RUNNING), "the end of the command")

    live(qapp, home, act)


def test_a_hundred_sessions_are_grouped_and_only_the_selected_one_has_a_card(qapp: QApplication, home: Path) -> None:
    rows = [
        SessionRow(f"{at:03}", f"Title {at}", status=("waiting", "running", "failed", "done")[at % 4])
        for at in range(100)
    ]
    groups = group_board([*rows, SessionRow("child", status="running", parent="000")], {row.id for row in rows[:50]})
    assert {name: len(members) for name, members in groups.items()} == {
        WAITING: 25, RUNNING: 25, FAILED: 12, FINISHED: 12
    }  # fmt: skip

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        await until(window.start.isVisible, "the window")
        window.session_index._rows.update({row.id: row for row in rows})
        window.unseen.add(row.id for row in rows)
        window.selection.choose_page("overview")
        page = window.pages.page("overview")
        assert isinstance(page, OverviewPanel)
        assert (
            len(page.findChildren(BoardRow)) == 100
            and "25 waiting for you" in find(page, QLabel, "overview.counts").text()
        )
        for _ in range(99):
            press(page, Qt.Key.Key_J)
        assert page.board.selected_session == page.board.sessions()[-1]
        assert row(page, page.board.selected_session).visibleRegion().boundingRect().height() > 10, (
            "it is scrolled into view"
        )

    live(qapp, home, act)


def test_a_session_names_its_sub_agents_while_they_work(qapp: QApplication, home: Path) -> None:
    asking = {"name": "ask_user", "arguments": QUESTION}
    delegate = {"name": "delegate", "arguments": {"task": "Count.", "name": "counter", "background": True}}
    replies = {
        "replies": [{"calls": [delegate]}, {"text": "I wait."}, {"text": "Done."}],
        "roles": {"agent:counter": [{"calls": [asking]}, {"text": "Counted."}]},
    }

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        session = await person.start(json.dumps(replies))()
        await activate(window)
        window.actions_by_id["page.overview"].trigger()
        page = window.pages.page("overview")
        assert isinstance(page, OverviewPanel)

        def doing() -> str:
            row = page.findChild(QWidget, f"overview.session.{session}")
            return row.accessibleName() if row else ""

        await until(lambda: "sub-agents at work: counter" in doing(), "the sub-agent")
        window.show_session(session)
        model = window.view.page.model
        rows = (model.step_of_row(row) for row in range(model.count))
        step = await until(lambda: next((each for each in rows if each and each.kind == "delegate"), None), "its step")
        assert step.status == "running" and step.metrics["background"] == 1

    live(qapp, home, act)


def test_a_session_that_waits_for_a_permission_has_a_shield(qtbot: QtBot, look: Look) -> None:
    for kind, name in (("question", "circle-question-mark"), ("permission", "shield-question-mark")):
        entry = BoardEntry(WAITING, SessionRow("a", "Letter", status="waiting", activity_kind=kind))
        part = BoardRow(look, entry, lambda: 0)
        qtbot.addWidget(part)
        part.show_entry(entry, "")
        expected = pixmap(name, look.theme.waiting, look.size(16), part.devicePixelRatioF())
        assert part._glyph.pixmap().toImage() == expected.toImage()
