"""Importing several files in the real window: what was imported is reported, however the import ends."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QListWidget, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from tests.bench.transcript import write_transcript
from tests.core.exchange.test_importers import CLAUDE, CODEX
from tests.ui.hands import click, find
from tests.ui.test_desktop_app import Person, live, until
from ui.base.drop_filter import DropFilter
from ui.dialogs.session_import_dialog import FoundTranscript, SessionImportDialog
from ui.style.theme import Look


def drop(person: Person, *paths: Path | str) -> None:
    drop_filter = person.window.findChild(DropFilter)
    assert drop_filter
    drop_filter.files_dropped.emit([str(path) for path in paths])


def toast(person: Person) -> str:
    return find(person.window.toast, QLabel, "toast.text").accessibleName()


def agents(person: Person) -> set[str]:
    rows = person.window.session_index.all_rows()
    return {row.imported_from.partition(":")[0] for row in rows}


def test_a_canceled_import_reports_the_files_that_were_finished(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    long = write_transcript(tmp_path, 25_000_000)

    async def act(person: Person) -> None:
        work = find(person.window.status, QLabel, "status.work")
        await until(person.window.start.isVisible, "the start screen")
        drop(person, CODEX, long)
        await until(lambda: long.name in work.accessibleName(), "the progress of the second file")
        click(find(person.window.status, QToolButton, "status.cut"))
        await until(lambda: toast(person) == "Imported 1 session.", "the result")

    live(qapp, home, act)


def test_files_can_be_imported_directly_after_a_cancel(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    long = write_transcript(tmp_path, 25_000_000)

    async def act(person: Person) -> None:
        work = find(person.window.status, QLabel, "status.work")
        await until(person.window.start.isVisible, "the start screen")
        drop(person, long)
        drop(person, CLAUDE)
        await until(lambda: long.name in work.accessibleName(), "the progress")
        click(find(person.window.status, QToolButton, "status.cut"))
        drop(person, CODEX)
        await until(lambda: toast(person) == "Imported 1 session.", "the result")
        titles = {row.title for row in person.window.session_index.all_rows()}
        assert "Codex" in agents(person) and "Mend the greeting in hello.py." not in titles

    live(qapp, home, act)


def test_an_error_is_shown_although_another_file_was_imported(qapp: QApplication, home: Path) -> None:
    """The dialog closes when the session is opened, so the window shows the error."""

    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        window.actions_by_id["sessions.import"].trigger()
        dialog = await until(lambda: window.findChild(SessionImportDialog), "the dialog")
        dialog.import_requested.emit(["/nowhere/at/all.jsonl", str(CODEX)])
        await until(lambda: window.selection.session, "the session")
        await until(lambda: "cannot be read" in person.notice(), "the error")
        assert toast(person) == "Imported 1 session."
        window.actions_by_id["sessions.import"].trigger()
        dialog = await until(lambda: window.findChild(SessionImportDialog), "the dialog")
        dialog.import_requested.emit([str(CODEX)])
        await until(lambda: not person.notice(), "the next import has replaced the error")
        await until(lambda: "Nothing new" in toast(person), "its end")

    live(qapp, home, act)


def test_the_error_of_the_only_file_is_shown_in_the_dialog(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        window.actions_by_id["sessions.import"].trigger()
        dialog = await until(lambda: window.findChild(SessionImportDialog), "the dialog")
        dialog.import_requested.emit(["/nowhere/at/all.jsonl"])
        message = find(dialog, QLabel, "import.said")
        await until(lambda: "cannot be read" in message.text().replace("\u200b", ""), "the error")
        dialog.reject()
        assert person.notice() == ""

    live(qapp, home, act)


def test_an_internal_error_ends_the_import_and_reports_the_finished_files(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        await until(person.window.start.isVisible, "the start screen")
        drop(person, CODEX, "not a path\0", CLAUDE)
        await until(lambda: toast(person) == "Imported 1 session.", "the result")
        await until(lambda: agents(person) == {"Codex"}, "the session in the list")

    live(qapp, home, act, crashes=True)


def test_the_keyboard_goes_to_the_choice_of_files_if_no_session_was_found(
    qapp: QApplication, look: Look, qtbot: QtBot
) -> None:
    dialog = SessionImportDialog(look, window := QWidget())
    qtbot.addWidget(window)
    dialog.show()
    qtbot.waitUntil(find(dialog, QListWidget, "import.list").hasFocus)
    dialog.show_found([])
    assert find(dialog, QPushButton, "import.files").hasFocus()
    dialog.close()


@pytest.mark.parametrize("found", [[], [FoundTranscript("Codex", "/home/me/one.jsonl", 1, 0.0)]], ids=["none", "one"])
def test_the_end_of_the_search_keeps_the_error_of_an_import(
    qapp: QApplication, look: Look, found: list[FoundTranscript]
) -> None:
    dialog = SessionImportDialog(look, window := QWidget())
    dialog.show_error("The file cannot be read.")
    dialog.show_found(found)
    message = find(dialog, QLabel, "import.said").text().replace("\u200b", "")
    window.deleteLater()
    assert "cannot be read" in message
