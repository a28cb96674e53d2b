"""Export and import in the real window: secrets are previewed, imported sessions are read-only."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QToolButton,
)

from app.cli.arguments import parse
from app.cli.command_parser import UsageError
from core.domain.events import UserMessage
from core.domain.text import Text
from core.store.journal import Journal
from tests.bench.transcript import write_transcript
from tests.core.exchange.test_importers import CLAUDE, CODEX, SAMPLES
from tests.core.store.made import fill, write
from tests.sessions import create_session
from tests.ui.hands import click, find, press
from tests.ui.test_desktop_app import Person, live, until
from ui.base.drop_filter import DropFilter, dragged_files
from ui.dialogs.export_dialog import ExportDialog
from ui.dialogs.session_import_dialog import SessionImportDialog
from ui.sessions.session_menu import SessionAction


def test_a_session_is_exported_and_its_folder_can_be_opened(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    fill(home / "journeyman.db", sessions=1)

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session, "a session")
        window.actions_by_id["session.export"].trigger()
        dialog = await until(lambda: window.findChild(ExportDialog), "the dialog")
        found = find(dialog, QLabel, "export.found")
        await until(lambda: "Searching" not in found.text(), "the preview")
        place = find(dialog, QLineEdit, "export.place")
        for form, suffix in (("html", ".html"), ("atif", ".atif.json"), ("json", ".journeyman.json"), ("md", ".md")):
            find(dialog, QRadioButton, f"export.format.{form}").click()
            assert Path(place.text()) == Path.home() / f"session-0{suffix}"
        place.setText(str(tmp_path / "nowhere" / "a.md"))
        click(find(dialog, QPushButton, "export.go"))
        said = find(dialog, QLabel, "export.said")
        await until(lambda: "could not be written" in said.text().replace("\u200b", ""), "what went wrong")
        place.setText(str(tmp_path / "a.md"))
        click(find(dialog, QPushButton, "export.go"))
        await until(find(dialog, QPushButton, "export.show").isVisible, "it is written")
        assert found.text().startswith("No API keys") and "No API keys" not in said.text()
        assert (tmp_path / "a.md").read_text("utf-8").startswith("# Session 0")
        assert person.state.text("export.folder") == str(tmp_path)
        click(find(dialog, QPushButton, "export.cancel"))
        assert person.notice() == ""

    live(qapp, home, act)


def test_secrets_to_be_removed_are_previewed(qapp: QApplication, home: Path) -> None:
    async def work(journal: Journal) -> None:
        session = await create_session(journal, "/tmp", "With a key")
        await journal.append(session, UserMessage(Text("use ghp_" + "a1B2c3D4e5" * 4 + " for it")))

    write(home / "journeyman.db", work)

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session, "a session")
        window.actions_by_id["session.export"].trigger()
        dialog = await until(lambda: window.findChild(ExportDialog), "the dialog")
        samples = find(dialog, QPlainTextEdit, "export.samples")
        await until(samples.isVisible, "the preview")
        assert samples.toPlainText() == "use [GitHub token removed] for it"
        assert "GitHub token 1" in find(dialog, QLabel, "export.found").text()
        dialog.reject()

    live(qapp, home, act)


def test_sessions_of_other_agents_are_imported_read_only(
    qapp: QApplication, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / ".claude" / "projects" / "-home-ada"
    place.mkdir(parents=True)
    shutil.copy(CLAUDE, place)
    monkeypatch.setenv("HOME", str(tmp_path))

    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        click(find(window.start, QPushButton, "start.others"))
        dialog = await until(lambda: window.findChild(SessionImportDialog), "the dialog")
        shown = find(dialog, QListWidget, "import.list")
        await until(lambda: shown.count() == 1, "what was found")
        assert "Claude Code" in shown.item(0).text()
        await until(lambda: shown.item(0).text().startswith("Mend the greeting in hello.py."), "the title")
        assert "-home-ada" in shown.item(0).text() and CLAUDE.stem not in shown.item(0).text()
        assert shown.currentRow() == 0 and not shown.selectedItems()
        press(shown, Qt.Key.Key_Space)
        assert find(dialog, QPushButton, "import.go").isEnabled()
        shown.item(0).setText("A very long title " * 40)
        shown.doItemsLayout()
        assert shown.horizontalScrollBar().maximum() == 0 and shown.visualItemRect(shown.item(0)).width() < 700
        shown.item(0).setSelected(True)
        click(find(dialog, QPushButton, "import.go"))
        await until(lambda: window.selection.session, "the session")
        session = window.selection.session
        await until(lambda: window.row(session).imported_from, "its line")
        row = window.row(session)
        assert row.title == "Mend the greeting in hello.py." and row.imported_from.startswith("Claude Code:")
        await until(lambda: window.view.composer.accessibleName(), "the composer")
        said = find(window.toast, QLabel, "toast.text")
        await until(lambda: "Imported" in said.accessibleName(), "the toast")
        window.sessions.action_requested.emit(SessionAction.FORK, [session])
        await until(lambda: window.selection.session != session, "the fork")
        fork = window.selection.session
        await until(
            lambda: window.row(fork).forked_from == session and not window.row(fork).imported_from,
            "the fork is editable",
        )
        assert person.notice() == ""

    live(qapp, home, act)


def test_a_long_import_is_shown_while_it_is_read_and_can_be_canceled(
    qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    path = write_transcript(tmp_path, 25_000_000)

    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        going, drop = find(window.status, QLabel, "status.work"), window.findChild(DropFilter)
        assert drop
        drop.files_dropped.emit([str(path)])
        drop.files_dropped.emit([])  # a second drop before the import has started does not start another one
        await until(lambda: window.selection.session, "the session")
        session = window.selection.session
        await until(lambda: "Reading" in going.accessibleName(), "how far it is")
        click(find(window.status, QToolButton, "status.cut"))
        await until(lambda: window.row(session).status == "stopped", "it is cut")
        await until(lambda: not going.isVisible(), "all of it is found by its words")
        assert person.notice() == ""

    live(qapp, home, act)


def test_a_file_opened_while_the_window_is_open_is_shown_in_it(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        person.program.files_requested.emit([str(CODEX)])
        await until(lambda: window.row(window.selection.session).imported_from.startswith("Codex:"), "the session")
        person.program.files_requested.emit([])  # launching the app again without a file only raises the window
        person.program.files_requested.emit(["/nowhere/at/all.jsonl"])
        await until(lambda: "cannot be read" in person.notice(), "what went wrong")

    live(qapp, home, act)


def test_a_file_argument_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.journeyman.json", "demo"):
        Path(name).write_text("{}")
    read = parse(["a.journeyman.json", str(CODEX)])
    assert (read.command, read.files) == ("open", ["a.journeyman.json", str(CODEX)])
    assert parse(["--data-dir", "x", str(CODEX)]).files == [str(CODEX)]
    assert parse(["open"]).files == [] and parse([]).command is None
    assert parse(["demo"]).command == "demo"  # the command wins over a file of that name
    with pytest.raises(UsageError):
        parse(["nothing.json"])


def test_transcripts_may_be_dropped_and_nothing_else(tmp_path: Path) -> None:
    def carried(*paths: Path) -> list[str]:
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
        return dragged_files(data)

    (tmp_path / "a.png").write_bytes(b"x")
    assert carried(CODEX, CLAUDE) == [str(CODEX), str(CLAUDE)]
    assert carried(CODEX, tmp_path / "a.png") == carried(tmp_path) == carried(tmp_path / "gone.json") == carried() == []
    compressed = [tmp_path / "a.jsonl.gz", tmp_path / "a.jsonl.zst"]
    for path in compressed:
        path.write_bytes(b"x")
    samples = [sample.path for sample in SAMPLES if sample.path.is_file()]
    assert [path for path in (*samples, *compressed) if not carried(path)] == []
