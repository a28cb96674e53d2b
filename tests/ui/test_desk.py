"""Two sessions side by side, and tabs: both go on, one is worked in, and all of it is there after a restart."""

import asyncio
import json
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QListView, QPlainTextEdit, QPushButton

from tests.core.store.made import fill
from tests.ui.hands import click, find, write
from tests.ui.test_desktop import Person, live, until
from ui.side import Side
from ui.theme import Look, load_fonts


def test_two_sessions_stand_side_by_side_and_each_is_answered_written_to_and_stopped_where_it_stands(
    qapp: QApplication, home: Path
) -> None:
    async def act(person: Person) -> None:
        window, desk = person.window, person.window.desk
        first, second = await person.start()(), await person.start()()
        window.go_to(first)
        await until(person.card, "the card")
        desk.show_beside(second)
        left, right = find(window, Side, "side"), find(window, Side, "beside")
        assert right.isVisible() and window.selection.session == first and desk.beside == second
        assert right.view.page.model.session == second and right.view.composer.isVisible()
        await until(lambda: right.view.asking.card, "the question of the other session")
        assert left.tabs.marked == first and right.tabs.marked == second and not right.tabs.names()
        right.view.page.select_row(0)
        left.view.page.show_tab("decisions")
        assert right.view.page.tab == "steps" and right.view.page.chosen
        assert left.view.page.chosen is None
        write(find(right, QPlainTextEdit, "composer.input"), "mind the cat")
        right.view.composer.keep_draft()
        assert person.state.draft(second) == "mind the cat" and not left.view.composer.draft()
        click(find(right, QPushButton, "run.stop"))
        await until(lambda: window.row(second).status == "stopped", "the end of the run that was stopped")
        assert window.row(first).status == "waiting"
        right.view.composer.say()
        await until(lambda: window.row(second).status == "waiting", "the next run of the session on the right")
        assert window.row(first).runs == 1 and window.row(second).runs == 2

    live(qapp, home, act)


def test_a_small_window_stays_as_it_is_for_a_question_and_for_two_sessions(qapp: QApplication, home: Path) -> None:
    two = [
        {"question": "Which tone?", "options": [{"label": "Firm"}, {"label": "Kind"}]},
        {"question": "To whom?", "free_text": True},
    ]
    form = {"name": "ask_user", "arguments": {"questions": two}}
    script = json.dumps({"replies": [{"text": "I ask.", "calls": [form]}, {"text": "Done."}]})

    async def act(person: Person) -> None:
        window, desk = person.window, person.window.desk
        first, second = await person.start(script)(), await person.start(script)()
        for scale, (width, height) in ((1.0, (640, 480)), (2.0, (1024, 700))):
            window.restyle(Look(window.look.theme, load_fonts(scale)))
            person.shell.resize(width, height)
            window.go_to(first)
            await until(lambda: window.view.asking.card, "the card")
            desk.show_beside(second)
            await until(lambda: desk.sides[1].view.asking.card, "the card of the other session")
            sizes = [side.width() for side in desk.sides]
            least = person.shell.minimumSizeHint()
            assert (person.shell.width(), person.shell.height()) == (width, height), scale
            assert least.width() <= width and least.height() <= height, scale
            assert max(sizes) - min(sizes) <= 1, scale
            desk.show_beside("")

    live(qapp, home, act)


def test_the_side_where_one_is_is_the_one_that_commands_mean(qapp: QApplication, home: Path) -> None:
    names = fill(home / "journeyman.db", sessions=3)

    async def act(person: Person) -> None:
        window, desk = person.window, person.window.desk
        await until(lambda: window.selection.session, "a session")
        window.go_to(names[0])
        do = window.actions_by_id
        assert not do["side.other"].isEnabled() and not do["tab.close"].isEnabled()
        desk.show_beside(names[1])
        left, right = desk.sides
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
        window.go_to(names[0])
        assert desk.sides.index(desk.side) == 0 and desk.beside == names[1]
        window.go_to(names[2])
        assert (desk.side.name, desk.beside) == (names[2], names[1])
        do["session.move"].trigger()
        assert (left.name, right.name, desk.side.name) == (names[1], names[2], names[2])
        do["tab.close"].trigger()
        assert desk.sides == [left] and window.selection.session == names[1] and left.isVisible()
        window.go_to(names[0])
        desk.show_beside(names[1])
        do["tab.close"].trigger()
        assert desk.sides == [right] and window.selection.session == names[1]
        desk.show_beside(names[2])
        assert [side.name for side in desk.sides] == [names[1], names[2]] and desk.sides == [right, left]
        assert right.x() < left.x() and right.objectName() == "side"
        window.drop_sessions([names[1]])
        assert desk.sides == [left] and window.selection.session == names[2]
        do["session.beside"].trigger()
        offered = find(window.deeds.palette, QListView, "palette.list").model()
        assert window.deeds.palette.isVisible() and offered.rowCount() == 1, "it cannot stand beside itself"

    live(qapp, home, act)


def test_tabs_are_kept_gone_to_closed_moved_and_there_after_a_restart(qapp: QApplication, home: Path) -> None:
    names = fill(home / "journeyman.db", sessions=4)

    async def act(person: Person) -> None:
        window, desk = person.window, person.window.desk
        tabs, do = desk.side.tabs, window.actions_by_id
        await until(lambda: window.selection.session, "a session")
        assert not tabs.isVisible()
        for name in names[:2]:
            window.go_to(name)
            do["session.tab"].trigger()
        assert tabs.names() == names[:2] and tabs.isVisible() and tabs.marked == names[1]
        do["tab.next"].trigger()
        assert window.selection.session == names[0] and tabs.marked == names[0]
        click(tabs, tabs.tabRect(1).topLeft() + QPoint(20, 10))
        assert window.selection.session == names[1]
        window.go_to(names[2])
        assert tabs.marked == ""
        window.sessions.placed.emit("beside", names[0])
        right = desk.sides[1]
        assert desk.beside == names[0]
        assert (tabs.names(), right.tabs.names()) == ([names[1]], [names[0]])  # its tab went with it
        assert tabs.marked == names[2]  # has a tab as long as there are two sides
        window.go_to(names[1])
        do["session.move"].trigger()
        assert (tabs.names(), right.tabs.names()) == ([names[0]], [names[1]]) and desk.side is right

    async def again(person: Person) -> None:
        window, desk = person.window, person.window.desk
        await until(lambda: len(desk.sides) == 2, "the session beside")
        left, right = desk.sides
        assert (left.name, right.name) == (names[0], names[1]) and desk.side is right
        assert (left.tabs.names(), right.tabs.names()) == ([names[0]], [names[1]])
        window.go_to(names[3])
        assert right.name == names[3] and right.tabs.names() == [names[1]]
        close = right.tabs.tabRect(1).topLeft() + QPoint(20, 10)
        QTest.mouseClick(right.tabs, Qt.MouseButton.MiddleButton, pos=close)
        assert window.selection.session == names[1] and len(desk.sides) == 2
        window.actions_by_id["session.beside"].trigger()
        assert desk.sides == [right] and right.tabs.names() == [names[1], names[0]]
        window.drop_sessions([names[0], names[1]])
        assert not desk.side.tabs.isVisible() and window.selection.session == ""

    live(qapp, home, act)
    live(qapp, home, again)


def test_a_sub_agent_stands_among_the_steps_while_it_works_and_is_answered_beside_them(
    qapp: QApplication, home: Path
) -> None:
    give = {"name": "delegate", "arguments": {"task": "Count.", "name": "counter"}}
    ask = {"name": "ask_user", "arguments": {"question": "From one, or from zero?", "free_text": True}}
    roles = {"agent:counter": [{"text": "I ask.", "calls": [ask]}, {"text": "I count: 5."}]}
    script = json.dumps({"replies": [{"text": "I delegate.", "calls": [give]}, {"text": "Done."}], "roles": roles})

    async def act(person: Person) -> None:
        window, desk = person.window, person.window.desk
        session = await person.start(script)()
        window.go_to(session)
        page, model = window.view.page, window.view.page.model
        nested = await until(
            lambda: model.sessions - {session}, "the steps of the sub-agent among those of the session"
        )
        (child,) = nested
        gave = next(step for row in range(model.count) if (step := model.step_of_row(row)) and step.kind == "delegate")
        await until(lambda: window.row(child).status == "waiting", "its question")
        assert model.rowCount() > model.count and page.view.following
        page.select_row(model.row_in(child, 2))
        await until(lambda: window.pane.session == child, "the step of the sub-agent in the pane")
        page.select_row(gave.row)
        click(await until(lambda: window.pane.findChild(QPushButton, "step.child"), "the way to it"))
        assert desk.beside == child and page.isVisible()
        right = desk.sides[1]
        card = await until(lambda: right.view.asking.card, "the card of the sub-agent")
        write(next(field for field in card.findChildren(QPlainTextEdit) if field.isVisible()), "from one")
        click(find(right, QPushButton, "question.answer"))
        await until(lambda: window.row(session).status == "done", "the end of the run")
        await until(lambda: model.sessions == {session}, "that its steps fold away again")
        place = model.place(gave.row)
        assert place is not None and "steps" in model.index(place, 0).data()

    live(qapp, home, act)
