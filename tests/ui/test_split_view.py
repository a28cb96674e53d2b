"""The split view and tabs: both sessions stay live, one pane is active, and everything is restored on restart."""

import asyncio
import json
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QListView, QPlainTextEdit, QPushButton

from tests.core.store.made import fill
from tests.ui.hands import click, find, write
from tests.ui.test_desktop_app import Person, live, until
from ui.shell.session_pane import SessionPane
from ui.style.theme import Look, load_fonts


def test_two_sessions_are_shown_side_by_side_and_each_is_answered_written_to_and_stopped(
    qapp: QApplication, home: Path
) -> None:
    async def act(person: Person) -> None:
        window, desk = person.window, person.window.split_view
        first, second = await person.start()(), await person.start()()
        window.show_session(first)
        await until(person.card, "the card")
        desk.show_in_other_pane(second)
        left, right = find(window, SessionPane, "side"), find(window, SessionPane, "beside")
        assert right.isVisible() and window.selection.session == first and desk.other_session == second
        assert right.view.page.model.session == second and right.view.composer.isVisible()
        await until(lambda: right.view.asking.card, "the question of the other session")
        assert left.tabs.current == first and right.tabs.current == second and not right.tabs.permanent()
        right.view.page.select_row(0)
        left.view.page.show_tab("decisions")
        assert right.view.page.current_tab == "steps" and right.view.page.selected
        assert left.view.page.selected is None
        write(find(right, QPlainTextEdit, "composer.input"), "mind the cat")
        right.view.composer.flush_draft()
        assert person.state.draft(second) == "mind the cat" and not left.view.composer.draft()
        click(find(right, QPushButton, "run.stop"))
        await until(lambda: window.row(second).status == "stopped", "the end of the run that was stopped")
        assert window.row(first).status == "waiting"
        right.view.composer.submit()
        await until(lambda: window.row(second).status == "waiting", "the next run of the session on the right")
        assert window.row(first).runs == 1 and window.row(second).runs == 2

    live(qapp, home, act)


def test_a_small_window_keeps_its_size_for_a_question_and_for_two_sessions(qapp: QApplication, home: Path) -> None:
    two = [
        {"question": "Which tone?", "options": [{"label": "Firm"}, {"label": "Kind"}]},
        {"question": "To whom?", "free_text": True},
    ]
    form = {"name": "ask_user", "arguments": {"questions": two}}
    script = json.dumps({"replies": [{"text": "I ask.", "calls": [form]}, {"text": "Done."}]})

    async def act(person: Person) -> None:
        window, desk = person.window, person.window.split_view
        first, second = await person.start(script)(), await person.start(script)()
        for scale, (width, height) in ((1.0, (640, 480)), (2.0, (1024, 700))):
            window.restyle(Look(window.look.theme, load_fonts(scale)))
            person.shell.resize(width, height)
            window.show_session(first)
            await until(lambda: window.view.asking.card, "the card")
            desk.show_in_other_pane(second)
            await until(lambda: desk.panes[1].view.asking.card, "the card of the other session")
            sizes = [side.width() for side in desk.panes]
            least = person.shell.minimumSizeHint()
            assert (person.shell.width(), person.shell.height()) == (width, height), scale
            assert least.width() <= width and least.height() <= height, scale
            assert max(sizes) - min(sizes) <= 1, scale
            desk.close_other_pane()

    live(qapp, home, act)


def test_commands_apply_to_the_focused_side(qapp: QApplication, home: Path) -> None:
    names = fill(home / "journeyman.db", sessions=3)

    async def act(person: Person) -> None:
        window, desk = person.window, person.window.split_view
        await until(lambda: window.selection.session, "a session")
        window.show_session(names[0])
        do = window.actions_by_id
        assert not do["side.other"].isEnabled() and not do["tab.close"].isEnabled()
        desk.show_in_other_pane(names[1])
        left, right = desk.panes
        do["side.other"].trigger()
        assert window.selection.session == names[1] and window.view is right.view
        find(left, QPlainTextEdit, "composer.input").setFocus()
        await until(lambda: window.selection.session == names[0], "the side with the keyboard")
        turned: list[str] = []
        window.selection.session_changed.connect(turned.append)
        find(right, QPlainTextEdit, "composer.input").setFocus()
        find(left, QPlainTextEdit, "composer.input").setFocus()
        await asyncio.sleep(0.05)
        assert turned == [], "where the keyboard only passed by is not worked in"
        click(right, right.rect().topRight() - QPoint(3, -3))
        assert window.selection.session == names[1]
        window.show_session(names[0])
        assert desk.panes.index(desk.active_pane) == 0 and desk.other_session == names[1]
        window.show_session(names[2])
        assert (desk.active_pane.session, desk.other_session) == (names[2], names[1])
        do["session.move"].trigger()
        assert (left.session, right.session, desk.active_pane.session) == (names[1], names[2], names[2])
        do["tab.close"].trigger()
        assert desk.panes == [left] and window.selection.session == names[1] and left.isVisible()
        window.show_session(names[0])
        desk.show_in_other_pane(names[1])
        do["tab.close"].trigger()
        assert desk.panes == [right] and window.selection.session == names[1]
        desk.show_in_other_pane(names[2])
        assert [side.session for side in desk.panes] == [names[1], names[2]] and desk.panes == [right, left]
        assert right.x() < left.x() and right.objectName() == "side"
        window.remove_sessions([names[1]])
        assert desk.panes == [left] and window.selection.session == names[2]
        do["session.beside"].trigger()
        offered = find(window.commands.palette, QListView, "palette.list").model()
        assert window.commands.palette.isVisible() and offered.rowCount() == 1, (
            "a session cannot be shown next to itself"
        )
        do["session.1"].trigger()
        assert not window.commands.palette.isVisible(), "what it offers does not apply to the other session"

    live(qapp, home, act)


def test_tabs_are_kept_activated_closed_moved_and_restored(qapp: QApplication, home: Path) -> None:
    names = fill(home / "journeyman.db", sessions=4)

    async def act(person: Person) -> None:
        window, desk = person.window, person.window.split_view
        tabs, do = desk.active_pane.tabs, window.actions_by_id
        await until(lambda: window.selection.session, "a session")
        assert not tabs.isVisible()
        for name in names[:2]:
            window.show_session(name)
            do["session.tab"].trigger()
        assert tabs.permanent() == names[:2] and tabs.isVisible() and tabs.current == names[1]
        do["tab.next"].trigger()
        assert window.selection.session == names[0] and tabs.current == names[0]
        click(tabs, tabs.tabRect(1).topLeft() + QPoint(20, 10))
        assert window.selection.session == names[1]
        window.show_session(names[2])
        assert tabs.current == ""
        window.sessions.split_view_requested.emit(names[0])
        right = desk.panes[1]
        assert desk.other_session == names[0]
        assert (tabs.permanent(), right.tabs.permanent()) == ([names[1]], [names[0]])  # its tab moved with it
        assert tabs.current == names[2]  # has a temporary tab while the view is split
        window.show_session(names[1])
        do["session.move"].trigger()
        assert (tabs.permanent(), right.tabs.permanent()) == ([names[0]], [names[1]]) and desk.active_pane is right

    async def again(person: Person) -> None:
        window, desk = person.window, person.window.split_view
        await until(lambda: len(desk.panes) == 2, "the split view")
        left, right = desk.panes
        assert (left.session, right.session) == (names[0], names[1]) and desk.active_pane is right
        assert (left.tabs.permanent(), right.tabs.permanent()) == ([names[0]], [names[1]])
        window.show_session(names[3])
        assert right.session == names[3] and right.tabs.permanent() == [names[1]]
        close = right.tabs.tabRect(1).topLeft() + QPoint(20, 10)
        QTest.mouseClick(right.tabs, Qt.MouseButton.MiddleButton, pos=close)
        assert window.selection.session == names[1] and len(desk.panes) == 2
        window.actions_by_id["session.beside"].trigger()
        assert desk.panes == [right] and right.tabs.permanent() == [names[1], names[0]]
        window.remove_sessions([names[0], names[1]])
        assert not desk.active_pane.tabs.isVisible() and window.selection.session == ""

    live(qapp, home, act)
    live(qapp, home, again)


def test_a_working_sub_agent_is_shown_among_the_steps_and_answered_beside_them(qapp: QApplication, home: Path) -> None:
    give = {"name": "delegate", "arguments": {"task": "Count.", "name": "counter"}}
    ask = {"name": "ask_user", "arguments": {"question": "From one, or from zero?", "free_text": True}}
    roles = {"agent:counter": [{"text": "I ask.", "calls": [ask]}, {"text": "I count: 5."}]}
    script = json.dumps({"replies": [{"text": "I delegate.", "calls": [give]}, {"text": "Done."}], "roles": roles})

    async def act(person: Person) -> None:
        window, desk = person.window, person.window.split_view
        session = await person.start(script)()
        window.show_session(session)
        page, model = window.view.page, window.view.page.model
        nested = await until(
            lambda: model.sessions - {session}, "the steps of the sub-agent among those of the session"
        )
        (child,) = nested
        gave = next(step for row in range(model.count) if (step := model.step_of_row(row)) and step.kind == "delegate")
        await until(lambda: window.row(child).status == "waiting", "its question")
        assert model.rowCount() > model.count and page.view.following
        page.select_row(2, child)
        await until(lambda: window.step_pane.session == child, "the step of the sub-agent in the pane")
        page.select_row(gave.row)
        click(await until(lambda: window.step_pane.findChild(QPushButton, "step.child"), "the way to it"))
        assert desk.other_session == child and page.isVisible()
        right = desk.panes[1]
        card = await until(lambda: right.view.asking.card, "the card of the sub-agent")
        write(next(field for field in card.findChildren(QPlainTextEdit) if field.isVisible()), "from one")
        click(find(right, QPushButton, "question.answer"))
        await until(lambda: window.row(session).status == "done", "the end of the run")
        await until(lambda: model.sessions == {session}, "that its steps fold away again")
        place = model.position_of(gave.row)
        assert place is not None and "steps" in model.index(place, 0).data()

    live(qapp, home, act)
