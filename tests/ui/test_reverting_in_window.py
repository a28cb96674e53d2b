"""Reverting files in the real window, and undoing that; also if the folder is gone or the session was imported."""

import json
import shutil
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QPushButton, QTabBar, QWidget

from tests.core.exchange.test_importers import CLAUDE
from tests.ui.hands import click, find
from tests.ui.test_desktop_app import Person, live, until
from ui.diff.diff_view import DiffView

WRITES = json.dumps(
    {
        "replies": [
            {"calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}}]},
            {"text": "Done."},
        ]
    }
)


def test_a_revert_in_a_missing_folder_is_refused_with_its_cause(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(WRITES)()  # it must be the first to write the file: the other changes nothing
        await until(lambda: window.row(session).status == "done", "the first has ended")
        other = await person.start(WRITES)()
        await until(lambda: window.row(other).status == "done", "the second has ended")
        window.show_session(session)
        window.view.page.show_tab("changes")
        button = find(window.view, QPushButton, "changes.undo")
        await until(lambda: button.isVisible() and button.isEnabled(), "the button")
        shutil.rmtree(home / "work")
        click(button)
        await until(lambda: "cannot be opened" in person.notice().replace("\u200b", ""), "the cause")
        window.show_session(other)
        window.show_session(session)
        window.view.page.show_tab("changes")
        await until(lambda: not button.isEnabled(), "the button is disabled")
        assert "gone" in button.toolTip()
        assert not find(window.view, QPushButton, "changes.back").isEnabled()

    live(qapp, home, act)


def test_an_imported_session_offers_no_revert(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        session = (await person.program.engine.ask(lambda engine: engine.exchange.import_file(CLAUDE))).session
        await until(lambda: window.row(session).imported_from, "the imported session")
        window.show_session(session)
        window.view.page.show_tab("changes")
        await until(lambda: window.view.scan.done and window.view.scan.past.changed_files(), "its changes")
        for name in ("changes.undo", "changes.back", "changes.again"):
            assert not find(window.view, QPushButton, name).isVisible()

    live(qapp, home, act)


def test_the_last_revert_can_be_undone_only_if_there_is_one(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(WRITES)()
        await until(lambda: window.row(session).runs and window.row(session).status == "done", "its end")
        window.show_session(session)
        window.view.page.show_tab("changes")
        revert, undo = (find(window.view, QPushButton, f"changes.{name}") for name in ("undo", "again"))
        await until(lambda: revert.isVisible() and revert.isEnabled(), "the button")
        file, texts, tabs = home / "work" / "a.txt", list[str](), find(window.view, QTabBar, "run.tabs")
        for button, exists in ((revert, False), (undo, True), (revert, False), (undo, True)):
            await until(button.isVisible, "the button")
            click(button)
            dialog = await until(lambda: window.findChild(QDialog, "putback"), "the dialog")
            texts.append(find(dialog, QLabel, "putback.told").text() + find(dialog, QPushButton, "putback.yes").text())
            click(find(dialog, QPushButton, "putback.yes"))
            await until(file.exists if exists else lambda: not file.exists(), "the file")
            await until((lambda: not undo.isVisible()) if exists else undo.isVisible, "the revert to undo")
            await until(lambda: window.findChild(QDialog, "putback") is None, "the dialog is gone")
            await until(partial(has_tab_name, tabs, "Changes +1" if exists else "Changes"), "the badge of the tab")
            if not exists:
                await until(lambda: window.toast.can_undo and "reverted" in window.toast.accessibleName(), "the notice")
        click(revert)
        click(find(await until(lambda: window.findChild(QDialog, "putback"), "the dialog"), QPushButton, "putback.yes"))
        await until(lambda: not file.exists() and window.findChild(QDialog, "putback") is None, "the last revert")
        window.actions_by_id["toast.undo"].trigger()
        click(find(await until(lambda: window.findChild(QDialog, "putback"), "the dialog"), QPushButton, "putback.yes"))
        await until(file.exists, "the file")
        assert texts[0] == texts[2] != texts[1] == texts[3]

    live(qapp, home, act)


def has_tab_name(tabs: QTabBar, name: str) -> bool:
    return name in {tabs.accessibleTabName(index) for index in range(tabs.count())}


def has_size(widget: QWidget, size: QSize) -> bool:
    return widget.size() == size


def test_the_side_by_side_diff_fits_the_window(qapp: QApplication, home: Path) -> None:
    long_line = "A long line of a letter, " * 20
    calls = [{"name": "write", "arguments": {"path": "a.txt", "content": text}} for text in ("one\n", long_line)]
    script = json.dumps({"replies": [*({"calls": [call]} for call in calls), {"text": "Done."}]})

    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(script)()
        await until(lambda: window.row(session).runs and window.row(session).status == "done", "its end")
        window.show_session(session)
        window.view.page.show_tab("changes")
        diff = find(window.view, DiffView, "changes.lines")
        await until(lambda: diff.isVisible() and diff.rows.rowCount(), "the diff")
        click(find(window.view, QPushButton, "changes.shape"))
        for size in (QSize(900, 600), QSize(1440, 900)):
            person.shell.resize(size)
            await until(partial(has_size, person.shell, size), "the size")
            assert diff.rows.columnCount() == 2 and diff.horizontalScrollBar().maximum() > 0
            assert diff.columnViewportPosition(1) + diff.columnWidth(1) <= diff.viewport().width()
            right = diff.mapTo(window, diff.rect().bottomRight()).x()
            assert right < window.width() and diff.columnWidth(0) > 100

    live(qapp, home, act)


def test_without_a_revert_there_is_a_passing_message_instead_of_an_undo(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        session = await person.start('{"replies": [{"text": "Done."}]}')()
        await until(lambda: window.row(session).status == "done" and window.row(session).runs, "its end")
        window.show_session(session)
        await until(lambda: window.view.scan.done, "its history")
        window.actions_by_id["session.undo_revert"].trigger()
        await until(lambda: window.toast.accessibleName() == "There is no revert to undo", "the message")
        assert window.toast.isVisible() and person.notice() == ""

    live(qapp, home, act)


def test_undo_in_the_palette_needs_something_to_undo(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, undone = person.window, list[bool]()
        await until(window.start.isVisible, "the start screen")
        action = window.actions_by_id["toast.undo"]
        window.toast.show_message("Saved")
        assert window.toast.isVisible() and not action.isEnabled()
        window.toast.show_message("Deleted", lambda: undone.append(True))
        assert action.isEnabled()
        action.trigger()
        assert undone == [True] and not action.isEnabled()
        window.toast.show_message("Saved")
        assert not action.isEnabled()

    live(qapp, home, act)
