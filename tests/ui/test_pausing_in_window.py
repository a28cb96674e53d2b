"""A run is paused and resumed in the window, and a session without anything to compact says so."""

import json
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton

from tests.ui.hands import find, press, write
from tests.ui.test_desktop_app import Person, live, until
from ui.overview.board_row import BoardRow
from ui.sessions.sessions_model import Role
from ui.sessions.sessions_view import SessionsView
from ui.shell.session_tabs import SessionTabs
from ui.timeline.status_pill import StatusPill

WAIT = {"name": "run", "arguments": {"command": "while [ ! -e go ]; do sleep 0.05; done"}}
SCRIPT = json.dumps({"replies": [{"text": "", "calls": [WAIT]}, {"text": "", "calls": [WAIT]}, {"text": "Done."}]})


def run_command(person: Person, words: str) -> None:
    person.window.commands.open_commands()
    field = find(person.window, QLineEdit, "palette.field")
    write(field, words)
    press(field, Qt.Key.Key_Return)


def test_a_pause_is_visible_until_it_begins_and_the_palette_resumes_the_run(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, actions = person.window, person.window.actions_by_id
        await until(window.start.isVisible, "the start screen")
        session, other = await person.start(SCRIPT)(), await person.start('{"replies": [{"text": "Done."}]}')()
        window.show_session(session)
        pause = find(window.view, QPushButton, "run.pause")
        await until(lambda: pause.isVisible() and actions["run.pause"].isEnabled(), "the run")
        assert (pause.text(), pause.isEnabled()) == ("Pause", True) and not actions["run.resume"].isEnabled()
        actions["run.pause"].trigger()
        await until(lambda: pause.text() == "Pausing…" and not pause.isEnabled(), "the sign")
        window.show_session(other)
        await until(lambda: window.row(other).status == "done" and not pause.isVisible(), "the other session")
        window.show_session(session)
        assert pause.isVisible() and pause.text() == "Pausing…", "it still pauses"
        (home / "work" / "go").touch()
        await until(lambda: window.row(session).status == "paused" and not pause.isVisible(), "the pause")
        await until(actions["run.resume"].isEnabled, "the command")
        (home / "work" / "go").unlink()
        run_command(person, "resume")
        await until(lambda: window.row(session).status == "running" and pause.isVisible(), "the resumed run")
        assert (pause.text(), pause.isEnabled()) == ("Pause", True)
        (home / "work" / "go").touch()
        await until(lambda: window.row(session).status == "done", "the end")

    live(qapp, home, act)


def test_a_pausing_session_is_still_pausing_on_the_other_side_of_the_split_view(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, desk = person.window, person.window.split_view
        await until(window.start.isVisible, "the start screen")
        session, other = await person.start(SCRIPT)(), await person.start('{"replies": [{"text": "Done."}]}')()
        window.show_session(session)
        pause = find(window.view, QPushButton, "run.pause")
        await until(lambda: pause.isVisible() and window.actions_by_id["run.pause"].isEnabled(), "the run")
        window.actions_by_id["run.pause"].trigger()
        await until(lambda: pause.text() == "Pausing…", "the sign")
        window.show_session(other)
        desk.show_in_other_pane(session)
        beside = find(desk.panes[1].view, QPushButton, "run.pause")
        await until(beside.isVisible, "the session beside")
        assert beside.text() == "Pausing…" and not beside.isEnabled()
        (home / "work" / "go").touch()
        await until(lambda: window.row(session).status == "paused", "the pause")

    live(qapp, home, act)


def test_a_pausing_session_says_so_wherever_its_status_is_shown(
    qapp: QApplication, home: Path, announcements: list[str]
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        session, other = await person.start(SCRIPT)(), await person.start('{"replies": [{"text": "Done."}]}')()
        window.show_session(session)
        window.split_view.toggle_tab()
        pause = find(window.view, QPushButton, "run.pause")
        pill, rows = find(window.view, StatusPill, "run.status"), find(window, SessionsView, "sessions.list")
        await until(lambda: pause.isVisible() and window.row(session).steps, "the run")
        await until(lambda: window.row(other).status == "done", "the other run")

        def row_text() -> str:
            model = rows.model()
            found = model.match(model.index(0, 0), Role.SESSION, session)
            return str(found[0].data(Qt.ItemDataRole.AccessibleTextRole))

        assert pill.accessibleName() == "Running" and "Write it, running," in row_text()
        running_icon = find(window, SessionTabs, "tabs").tabIcon(0).cacheKey()
        window.actions_by_id["run.pause"].trigger()
        await until(lambda: pause.text() == "Pausing…", "the sign")
        assert pill.accessibleName() == "Pausing"
        assert "Write it, pausing," in row_text() and row_text().endswith("pausing after this turn")
        assert find(window, SessionTabs, "tabs").tabIcon(0).cacheKey() != running_icon
        assert announcements.count("The run pauses after this turn") == 1
        window.show_session(other)
        window.show_session(session)
        assert announcements[-1] == "Write it, pausing"
        window.selection.choose_page("overview")
        board_row = find(window, BoardRow, f"overview.session.{session}")
        assert "Write it, pausing, " in board_row.accessibleName()
        (home / "work" / "go").touch()
        await until(lambda: window.row(session).status == "paused", "the pause")
        await until(lambda: "Write it, paused," in row_text(), "the row")
        window.show_session(session)
        assert pill.accessibleName() == "Paused"

    live(qapp, home, act)


def test_nothing_to_compact_is_a_passing_message_not_an_error(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        session = await person.start('{"replies": [{"text": "Done."}]}')()
        window.show_session(session)
        await until(lambda: window.row(session).runs and window.row(session).status == "done", "the end")
        window.actions_by_id["run.compact"].trigger()
        await until(lambda: "Nothing to compact" in window.toast.accessibleName(), "the message")
        assert window.toast.isVisible() and not person.notice()

    live(qapp, home, act)
