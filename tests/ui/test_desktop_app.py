"""The whole program in one process: the real window, the real engine in its thread, and the window's event loop."""

import asyncio
import gc
import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton, QWidget
from shiboken6 import isValid

from app.window.desktop_app import DesktopApp
from app.window.qt_application import get_or_create_application
from app.window.startup import wait_for_paint
from core.domain.events import RunStarted
from core.domain.text import Text
from core.models.catalog import SCRIPTED
from core.store.migrate import latest_version
from tests.core.store.made import fill
from tests.ui.hands import click, find, press, write
from ui.base.window_loop import WindowLoop
from ui.base.window_state import WindowState
from ui.shell.window_frame import WindowFrame
from ui.style.theme import load_theme

BOUND_S = 15
LOCK_BOUND_S = 60  # each attempt to write to a locked data file takes 5 seconds, also those for other rows
ASK = {"name": "ask_user", "arguments": {"question": "Which tone?", "options": [{"label": "Firm"}, {"label": "Kind"}]}}
ASKS = json.dumps({"replies": [{"text": "I ask.", "calls": [ASK]}, {"text": "Done: {{answer}}."}]})

Found = TypeVar("Found")


@pytest.fixture(autouse=True)
def same_application(qapp: QApplication) -> None:
    """Use the application as the program sets it up; it changes the application name, which other tests ignore."""
    get_or_create_application()


async def until(look: Callable[[], Found | None], what: str, bound_s: float = BOUND_S) -> Found:
    end = asyncio.get_running_loop().time() + bound_s
    while not (found := look()):
        assert asyncio.get_running_loop().time() < end, what
        await asyncio.sleep(0.01)
    return found


async def activate(window: QWidget) -> None:
    """Make the window active, so that it gets shortcuts. A dialog that is closing may take the first request."""

    def is_active() -> bool:
        if not window.window().isActiveWindow():
            window.window().raise_()
            window.activateWindow()
        return window.window().isActiveWindow()

    await until(is_active, "the active window")


class Person:
    """A simulated user with an open window."""

    def __init__(self, app: QApplication, home: Path, *, safe: bool = False) -> None:
        self.state = WindowState(home, fresh=safe)
        self.shell = WindowFrame(load_theme("light"), self.state)
        self.shell.show()
        wait_for_paint(app, self.shell)
        self.home = home
        self.program = DesktopApp(app, self.shell, self.state, home, safe=safe)
        self.window = self.program.window

    def notice(self) -> str:
        notice = self.window.notice
        return " ".join(label.text() for label in notice.findChildren(QLabel)) if notice.isVisible() else ""

    def words(self) -> QPlainTextEdit:
        """Return the text field of the visible card."""
        return next(f for f in self.window.view.findChildren(QPlainTextEdit, "question.words") if f.isVisible())

    def start(self, script: str = ASKS) -> Callable[[], Awaitable[str]]:
        engine = self.program.engine
        folder = self.home / "work"
        folder.mkdir(exist_ok=True)

        async def begin() -> str:
            return await engine.ask(
                lambda e: e.start("Write it", folder, RunStarted(SCRIPTED, script=Text(script), mode="auto"))
            )

        return begin

    def card(self) -> QPushButton | None:
        return self.window.view.findChild(QPushButton, "question.answer")


def live(
    app: QApplication,
    home: Path,
    act: Callable[[Person], Awaitable[None]],
    *,
    safe: bool = False,
    crashes: bool = False,
) -> DesktopApp:
    """Open the program on a data folder, run `act`, and close the window."""
    person = Person(app, home, safe=safe)

    async def both() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(person.program.run_until_closed())
            try:
                await asyncio.sleep(0)
                await act(person)
            finally:
                if isValid(person.shell):  # it is deleted once the program has ended
                    person.shell.shut_down()

    with asyncio.Runner(loop_factory=lambda: WindowLoop(app)) as runner:
        runner.run(both())
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert bool((home / "crash.log").read_text()) == crashes
    return person.program


@contextmanager
def started() -> Iterator[None]:
    """Turn off the cyclic garbage collector, as `import_qt` does for objects created during startup."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def test_closing_removes_the_write_ahead_log(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        person.window.show_session(await person.start()())
        await until(person.card, "the card")
        assert (home / "journeyman.db-wal").exists()

    live(qapp, home, act)
    assert [file.name for file in home.glob("journeyman.db*")] == ["journeyman.db"]


def test_a_question_is_shown_everywhere_and_answered_in_its_card(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.start.isVisible(), "the start screen")
        session = await person.start()()
        window.show_session(session)
        await until(person.card, "the card")
        assert person.shell.windowTitle() == "(1) Write it – Journeyman"
        assert find(window, QPushButton, "status.waiting").isVisible()
        card = window.view.findChild(QPushButton, "question.answer")
        assert card is not None and not card.isEnabled()
        click(find(window.view, QPushButton, "question.later"))
        press(person.words(), Qt.Key.Key_X)
        assert card.isEnabled()
        click(card)
        await until(lambda: person.shell.windowTitle() == "Write it – Journeyman", "no request is waiting")
        walls = find(window, QPushButton, "status.sandbox")
        await until(walls.isVisible, "the sandbox state")
        assert "sandboxed" in walls.accessibleName() and walls.toolTip()
        await until(lambda: window.view.page.model.text_of(window.view.page.model.rowCount() - 2), "the answer")
        assert person.card() is None or not card.isVisible()
        assert person.notice() == ""

    live(qapp, home, act)


def test_drafts_survive_a_restart_and_switching_sessions(qapp: QApplication, home: Path) -> None:
    names: list[str] = []

    async def begin(person: Person) -> None:
        names.extend([await person.start()(), await person.start()()])
        window = person.window
        window.show_session(names[0])
        await until(lambda: person.shell.windowTitle() == "(2) Write it – Journeyman", "both questions")
        write(person.words(), "half")
        write(find(window.view, QPlainTextEdit, "composer.input"), "a draft")
        window.show_session(names[1])
        await until(lambda: find(window.view, QPlainTextEdit, "composer.input").toPlainText() == "", "no draft")
        assert person.words().toPlainText() == ""
        window.go_to_request(names[0])
        assert window.selection.session == names[0]
        assert person.words().toPlainText() == "half"
        assert find(window.view, QPlainTextEdit, "composer.input").toPlainText() == "a draft"

    async def again(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session, "the session shown last")
        assert window.selection.session == names[0]
        assert find(window.view, QPlainTextEdit, "composer.input").toPlainText() == "a draft"
        await until(lambda: person.shell.windowTitle() == "(2) Write it – Journeyman", "both questions")

    live(qapp, home, begin)
    live(qapp, home, again)


@pytest.mark.parametrize("chosen", ["run.new", "page.memory"])
def test_a_choice_made_while_the_file_is_checked_stays(qapp: QApplication, home: Path, chosen: str) -> None:
    async def begin(person: Person) -> None:
        await person.start()()
        await until(lambda: person.shell.windowTitle() == "(1) Journeyman", "the question")

    async def again(person: Person) -> None:
        window = person.window
        window.actions_by_id[chosen].trigger()
        await until(lambda: person.shell.windowTitle().startswith("(1) "), "the file is read")
        await until((window.start if chosen == "run.new" else window.pages).isVisible, "what was chosen")
        assert window.selection.session == ""
        await until(find(window, QPushButton, "status.sandbox").isVisible, "startup is complete")
        assert window.selection.session == "" and not window.split_view.isVisible()

    live(qapp, home, begin)
    live(qapp, home, again)


def test_a_message_that_cannot_be_sent_shows_an_error_and_is_restored(qapp: QApplication, home: Path) -> None:
    (name,) = fill(home / "journeyman.db")

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session == name, "the session")
        write(find(window.view, QPlainTextEdit, "composer.input"), "go on")
        window.view.composer.submit()
        await until(person.notice, "the notice")
        field = find(window.view, QPlainTextEdit, "composer.input")
        assert field.toPlainText() == "go on"
        click(find(window, QPushButton, "notice.close"))
        assert person.notice() == ""

    live(qapp, home, act)


def test_data_of_a_newer_schema_is_refused_and_the_window_closes(qapp: QApplication, home: Path) -> None:
    fill(home / "journeyman.db")
    db = sqlite3.connect(home / "journeyman.db")
    db.execute(f"PRAGMA user_version = {latest_version() + 1}")
    db.close()

    async def act(person: Person) -> None:
        assert "newer" in await until(person.notice, "the notice")
        person.window.start.demo_requested.emit()
        await asyncio.sleep(0)

    live(qapp, home, act)


class Dressed(QObject):
    """Counts how often the window was restyled."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.times = 0
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.times += event.type() == QEvent.Type.StyleChange
        return super().eventFilter(watched, event)


def test_the_theme_is_switched_and_saved(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        before = person.window.look.theme.name
        await until(find(person.window, QPushButton, "status.sandbox").text, "the settings were applied")
        dressed, kept = Dressed(person.window), list[str]()
        person.window.setting_changed.connect(lambda name, _: kept.append(name))
        person.window.actions_by_id["window.theme"].trigger()
        times = dressed.times
        assert person.window.look.theme.name == before, "the panels follow in a turn of their own: input waits less"
        await until(lambda: kept == ["theme"] and person.window.look.theme.name != before, "it is kept and shown")
        assert person.shell.updatesEnabled()
        assert times and dressed.times == times, "all widgets are dressed once: that takes long"
        size = person.window.look.fonts.text.pixelSize()
        person.window.actions_by_id["window.larger"].trigger()
        await until(lambda: person.window.look.fonts.text.pixelSize() > size, "the larger text")
        assert dressed.times == times, "a text size change restyles nothing"
        assert {before, person.window.look.theme.name} == {"light", "dark"}
        assert person.state.text("theme") == person.window.look.theme.name
        assert isinstance(person.window.look.fonts.text, QFont)

    live(qapp, home, act)


def test_objects_of_the_start_are_excluded_from_garbage_collection(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(gc.isenabled, "the start is over")
        assert gc.get_freeze_count() > 10_000

    with started():
        live(qapp, home, act)


def test_a_window_closed_while_the_engine_starts_ends_at_once(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        person.window.start.demo_requested.emit()

    live(qapp, home, act)
