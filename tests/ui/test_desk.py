"""Two sessions side by side, and tabs: both go on, one is worked in, and all of it is there after a restart."""

import json
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from core.domain.steps import Step
from tests.core.store.made import fill
from tests.ui.hands import click, find
from tests.ui.test_desktop import Person, live, until
from ui.beside import Beside
from ui.session_tabs import SessionTabs


def test_a_session_beside_goes_on_and_changes_places_when_it_is_worked_in(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        first, second = await person.start()(), await person.start()()
        window.go_to(first)
        await until(person.card, "the card")
        window.desk.show_beside(second)
        beside = find(window, Beside, "beside")
        assert beside.isVisible() and window.desk.wide
        here = find(window, QPushButton, "beside.here")
        await until(lambda: "waits for you" in here.text(), "that it waits")
        rows = beside.page.model.count
        assert rows and beside.page.model.session == second
        click(here)
        assert window.selection.session == second and window.desk.name == first
        assert beside.page.model.session == first and window.view.page.model.session == second
        window.desk.show_beside("")
        window.desk.show_beside(first)
        window.go_to(first)
        assert window.desk.name == second and person.state.text("beside") == second
        beside.page.stop.emit()
        assert window.selection.session == second
        await until(lambda: window.row(second).status == "stopped", "the end of the run that was stopped")
        window.actions_by_id["session.beside"].trigger()
        assert not beside.isVisible() and not window.desk.wide

    live(qapp, home, act)


def test_tabs_are_kept_gone_to_closed_and_there_after_a_restart(qapp: QApplication, home: Path) -> None:
    names = fill(home / "journeyman.db", sessions=3)

    async def act(person: Person) -> None:
        window = person.window
        tabs = find(window, SessionTabs, "tabs")
        await until(lambda: window.selection.session, "a session")
        assert not tabs.isVisible()
        for name in names[:2]:
            window.go_to(name)
            window.actions_by_id["session.tab"].trigger()
        assert tabs.names() == names[:2] and tabs.isVisible() and tabs.marked == names[1]
        window.actions_by_id["tab.next"].trigger()
        assert window.selection.session == names[0] and tabs.marked == names[0]
        QTest.mouseClick(tabs, Qt.MouseButton.LeftButton, pos=tabs.tabRect(1).topLeft() + QPoint(20, 10))
        assert window.selection.session == names[1]
        window.go_to(names[2])
        assert tabs.marked == ""
        window.sessions.placed.emit("beside", names[0])
        assert window.desk.name == names[0]

    async def again(person: Person) -> None:
        window = person.window
        tabs = find(window, SessionTabs, "tabs")
        await until(lambda: tabs.isVisible() and window.desk.name, "the tabs and the session beside")
        assert tabs.names() == names[:2] and window.desk.name == names[0]
        QTest.mouseClick(tabs, Qt.MouseButton.MiddleButton, pos=tabs.tabRect(0).topLeft() + QPoint(20, 10))
        window.drop_sessions([names[0], names[1]])
        assert tabs.names() == [] and not tabs.isVisible() and window.desk.name == ""

    async def without(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session == names[2], "the session shown last")
        window.desk.show_beside(names[1])
        window.drop_sessions([names[2]])
        window.go_to(names[1])
        assert window.desk.name == ""

    live(qapp, home, act)
    live(qapp, home, again)
    live(qapp, home, without)


def test_a_sub_agent_is_watched_beside_the_session_that_gave_it_work(qapp: QApplication, home: Path) -> None:
    give = {"name": "delegate", "arguments": {"task": "Count.", "name": "counter"}}
    roles = {"agent:counter": [{"text": "I count: 5."}]}
    script = json.dumps({"replies": [{"text": "I delegate.", "calls": [give]}, {"text": "Done."}], "roles": roles})

    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(script)()
        window.go_to(session)
        await until(lambda: window.row(session).status == "done", "the end of the run")
        model = window.view.page.model

        def given() -> Step | None:
            steps = (model.step_of_row(row) for row in range(model.count))
            return next((step for step in steps if step and step.kind == "delegate"), None)

        window.view.page.select_row((await until(given, "the step that gives work")).row)
        click(find(window.pane, QPushButton, "step.child"))
        beside = find(window, Beside, "beside")
        await until(lambda: window.row(window.desk.name).parent == session, "the session of the sub-agent")
        assert beside.isVisible()
        assert beside.page.model.session == window.desk.name and beside.page.model.count > 0

    live(qapp, home, act)
