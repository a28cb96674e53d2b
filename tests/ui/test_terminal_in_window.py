"""The Terminal tab in the real window: live output with colors, one scrollback per command, copy, and stop."""

import json
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QColor, QGuiApplication, QTextCursor
from PySide6.QtWidgets import QApplication, QLabel, QListView, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, live, until
from ui.style.contrast import readable
from ui.style.theme import Look
from ui.terminal.command_list import MAX_COMMANDS, CommandsModel
from ui.terminal.panel import TerminalPanel
from ui.terminal.terminal_view import MAX_LINES, MIN_CONTRAST, TerminalView

COLORED = r"printf '\033[31mred\033[0m and plain\n'; while [ ! -e go ]; do sleep 0.05; done; echo over; exit 3"
LONG = f"seq 1 {MAX_LINES + 500}"


def script(*commands: str, background: bool = False) -> str:
    calls = ({"name": "run", "arguments": {"command": text, "background": background}} for text in commands)
    return json.dumps({"replies": [*({"text": "Next.", "calls": [call]} for call in calls), {"text": "Done."}]})


def has_ended(person: Person, session: str) -> bool:
    row = person.window.row(session)
    return bool(row.runs) and row.status == "done"


def text_of(view: TerminalView) -> str:
    return view.toPlainText()


def commands(model: QAbstractItemModel) -> list[str]:
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


async def opened(person: Person, session: str) -> tuple[TerminalPanel, TerminalView, QListView]:
    window = person.window
    await until(lambda: window.row(session).runs, "the session")
    window.show_session(session)
    window.actions_by_id["view.terminal"].trigger()
    panel = window.view.terminal
    assert panel.isVisible()
    return panel, find(panel, TerminalView, "terminal.output"), find(panel, QListView, "terminal.commands")


def test_the_output_of_a_running_command_appears_with_its_colors(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        session = await person.start(script(COLORED))()
        panel, view, listed = await opened(person, session)
        await until(lambda: "red and plain" in text_of(view), "the output while the command runs")
        assert find(panel, QPushButton, "terminal.stop").isVisible()
        cursor = QTextCursor(view.document())
        cursor.setPosition(1)
        theme = person.window.look.theme
        assert cursor.charFormat().foreground().color() == theme.failed
        assert "printf" in find(panel, QLabel, "terminal.command").accessibleName()
        (home / "work" / "go").touch()
        await until(lambda: person.window.row(session).status == "done", "the end")
        await until(lambda: "over" in text_of(view), "the whole output")
        result = find(panel, QLabel, "terminal.result").accessibleName()
        assert result.startswith("failed · exit 3") and not find(panel, QPushButton, "terminal.stop").isVisible()
        assert view.toPlainText() == "red and plain\nover\n"
        click(find(panel, QPushButton, "terminal.copy"))
        assert QGuiApplication.clipboard().text() == "red and plain\nover\n"
        press(listed, Qt.Key.Key_Return)
        await until(lambda: person.window.view.page.current_tab == "steps", "the step")
        selected = person.window.view.page.selected
        assert selected is not None and selected.step.kind == "command"

    live(qapp, home, act)


def test_each_command_keeps_its_own_scrollback_of_bounded_length(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        session = await person.start(script("echo first", LONG, "true"))()
        await until(lambda: has_ended(person, session), "the end")
        panel, view, listed = await opened(person, session)
        await until(lambda: listed.model().rowCount() == 3, "the commands")
        assert commands(listed.model())[0] == "echo first" and listed.currentIndex().row() == 2
        assert "printed nothing" in find(panel, QLabel, "terminal.note").text()
        assert find(panel, QLabel, "terminal.count").text() == "3 commands"
        press(listed, Qt.Key.Key_Up)
        await until(lambda: f"\n{MAX_LINES + 500}\n" in text_of(view), "all of the long output")
        assert view.blockCount() == MAX_LINES and view.verticalScrollBar().value() == view.verticalScrollBar().maximum()
        press(listed, Qt.Key.Key_Up)
        await until(lambda: text_of(view) == "first\n", "the first output")
        assert person.shell.focusWidget() is listed

    live(qapp, home, act)


def test_the_run_is_stopped_from_the_terminal(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        session = await person.start(script("echo begun; sleep 1000"))()
        panel, view, _ = await opened(person, session)
        await until(lambda: "begun" in text_of(view), "the output")
        click(find(panel, QPushButton, "terminal.stop"))
        await until(lambda: person.window.row(session).status == "stopped", "the end")
        await until(lambda: find(panel, QLabel, "terminal.result").accessibleName().startswith("failed"), "the result")
        assert text_of(view).startswith("begun\n") and "stopped" in text_of(view)

    live(qapp, home, act)


def test_a_background_command_is_followed(qapp: QApplication, home: Path) -> None:
    waits = "echo serving; while [ ! -e go ]; do sleep 0.05; done"
    ends = json.loads(script(waits, background=True))
    wait = {"name": "run", "arguments": {"command": "while [ ! -e end ]; do sleep 0.05; done"}}
    ends["replies"].insert(1, {"text": "Wait.", "calls": [wait]})

    async def act(person: Person) -> None:
        session = await person.start(json.dumps(ends))()
        _, view, listed = await opened(person, session)
        await until(lambda: listed.model().rowCount() == 2, "both commands")
        listed.setCurrentIndex(listed.model().index(0, 0))
        await until(lambda: "serving" in text_of(view), "its output")
        (home / "work" / "go").touch()
        await until(lambda: listed.model().rowCount() == 3, "its end")
        listed.setCurrentIndex(listed.model().index(2, 0))
        assert text_of(view) == "serving\n"
        (home / "work" / "end").touch()
        await until(lambda: person.window.row(session).status == "done", "the end")

    live(qapp, home, act)


def test_a_session_without_commands_says_so(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        session = await person.start(json.dumps({"replies": [{"text": "Hello."}]}))()
        await until(lambda: has_ended(person, session), "the end")
        panel, _, _ = await opened(person, session)
        empty = find(panel, QLabel, "terminal.empty")
        await until(lambda: empty.isVisible() and empty.text().startswith("No commands yet."), "the hint")

    live(qapp, home, act)


class ManySteps:
    """A source with many more commands than the panel lists; every second row is a command."""

    def __init__(self) -> None:
        self.queried: list[int] = []

    def commands_before(self, session: str, row: int, count: int) -> list[Step]:
        self.queried.append(row)
        return [command(at) for at in range(row - 1, max(0, row - count) - 1, -1) if at % 100 == 0]

    def event(self, session: str, seq: int) -> dict[str, Any]:
        return {"kind": "tool_returned", "output": {"head": f"output of {seq}", "size": 10}}

    def full_text(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str:
        return f"output of {seq}"


def command(row: int) -> Step:
    return Step(row, "command", "done", 1, object=f"echo {row}", ended_at=2, first_seq=row, last_seq=row)


def test_the_newest_commands_of_a_long_session_are_listed(look: Look, qtbot: QtBot) -> None:
    source = ManySteps()
    panel = TerminalPanel(look, source)
    qtbot.addWidget(panel)
    panel.show_session(SessionRow("long", rows=1_000_000))
    listed = find(panel, QListView, "terminal.commands")
    qtbot.waitUntil(lambda: listed.model().rowCount() == MAX_COMMANDS)
    assert find(panel, QLabel, "terminal.count").text() == f"The last {MAX_COMMANDS} commands"
    assert len(source.queried) < 10 and commands(listed.model())[-1] == "echo 999900"
    panel.apply("long", [command(1_000_000)])
    assert listed.model().rowCount() == MAX_COMMANDS and commands(listed.model())[-1] == "echo 1000000"
    assert text_of(find(panel, TerminalView, "terminal.output")) == "output of 1000000"
    listed.setCurrentIndex(listed.model().index(0, 0))
    panel.apply("long", [command(1_000_002)])
    assert text_of(find(panel, TerminalView, "terminal.output")) != "output of 1000002"
    panel.apply("other", [command(3)])
    panel.restyle(look)


def test_the_model_of_the_list_passes_the_model_tester(qtmodeltester: Any) -> None:
    model = CommandsModel()
    model.prepend([command(3), command(1)])
    qtmodeltester.check(model)


def test_numbered_colors_are_those_of_the_theme_and_of_the_xterm_palette(look: Look, qtbot: QtBot) -> None:
    view = TerminalView(look)
    qtbot.addWidget(view)

    def shown(sgr: str) -> str:
        view.clear_output()
        view.append_output(f"\x1b[{sgr}mx")
        return QTextCursor(view.document()).block().begin().fragment().charFormat().foreground().color().name()

    theme = look.theme
    for normal, bright, token in (("31", "91", "failed"), ("32", "92", "done"), ("37", "97", "text")):
        color = readable(theme.color(token), theme.text, theme.background, MIN_CONTRAST).name()
        assert shown(normal) == shown(bright) == color
    for sgr, color in (("38;5;215", "#ffaf5f"), ("38;5;117", "#87d7ff"), ("38;5;250", "#bcbcbc")):
        expected = readable(QColor(color), theme.text, theme.background, MIN_CONTRAST).name()
        assert shown(sgr) == expected
