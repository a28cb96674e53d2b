"""Sessions leave and arrive by the window: exported with a look at what is removed, opened to be read."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QUrl
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

from app.arguments import UsageError, understood
from core.domain.events import PersonSpoke
from core.domain.text import Text
from core.store.journal import Journal
from tests.bench.transcript import transcript
from tests.core.exchange.test_importers import CLAUDE, CODEX
from tests.core.store.made import fill, write
from tests.ui.hands import click, find
from tests.ui.test_desktop import Person, live, until
from ui.dropping import FolderDrop, files_in
from ui.export_dialog import ExportDialog
from ui.import_dialog import ImportDialog


def test_a_session_is_exported_and_shown_where_it_lies(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    fill(home / "journeyman.db", sessions=1)

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window.selection.session, "a session")
        window.actions_by_id["session.export"].trigger()
        dialog = await until(lambda: window.findChild(ExportDialog), "the dialog")
        found = find(dialog, QLabel, "export.found")
        await until(lambda: "Looking" not in found.text(), "the preview")
        place = find(dialog, QLineEdit, "export.place")
        for form, suffix in (("html", ".html"), ("atif", ".atif.json"), ("json", ".journeyman.json"), ("md", ".md")):
            find(dialog, QRadioButton, f"export.format.{form}").click()
            assert Path(place.text()) == Path.home() / f"session-0{suffix}"
        place.setText(str(tmp_path / "nowhere" / "a.md"))
        click(find(dialog, QPushButton, "export.go"))
        said = find(dialog, QLabel, "export.said")
        await until(lambda: "cannot be written" in said.text().replace("\u200b", ""), "what went wrong")
        place.setText(str(tmp_path / "a.md"))
        click(find(dialog, QPushButton, "export.go"))
        await until(find(dialog, QPushButton, "export.show").isVisible, "it is written")
        assert found.text().startswith("No keys") and "No keys" not in said.text()
        assert (tmp_path / "a.md").read_text("utf-8").startswith("# Session 0")
        assert person.state.text("export.folder") == str(tmp_path)
        click(find(dialog, QPushButton, "export.cancel"))
        assert person.notice() == ""

    live(qapp, home, act)


def test_what_is_removed_is_shown_first(qapp: QApplication, home: Path) -> None:
    async def work(journal: Journal) -> None:
        session = await journal.open("/tmp", "With a key")
        await journal.append(session, PersonSpoke(Text("use ghp_" + "a1B2c3D4e5" * 4 + " for it")))

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


def test_runs_of_others_are_opened_to_be_read(
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
        dialog = await until(lambda: window.findChild(ImportDialog), "the dialog")
        shown = find(dialog, QListWidget, "import.list")
        await until(lambda: shown.count() == 1, "what was found")
        assert "Claude Code" in shown.item(0).text()
        shown.item(0).setSelected(True)
        click(find(dialog, QPushButton, "import.go"))
        await until(lambda: window.selection.session, "the session")
        session = window.selection.session
        await until(lambda: window.row(session).source, "its line")
        row = window.row(session)
        assert row.title == "Mend the greeting in hello.py." and row.source.startswith("Claude Code:")
        await until(lambda: window.view.composer.accessibleName(), "the composer")
        said = find(window.toast, QLabel, "toast.text")
        await until(lambda: "imported" in said.accessibleName(), "what was done is said")
        window.sessions.filed.emit("fork", [session])
        await until(lambda: window.selection.session != session, "the fork")
        fork = window.selection.session
        await until(lambda: window.row(fork).origin == session and not window.row(fork).source, "it is one's own")
        assert person.notice() == ""

    live(qapp, home, act)


def test_a_long_one_can_be_looked_at_while_it_is_read_and_be_cut(
    qapp: QApplication, home: Path, tmp_path: Path
) -> None:
    path = transcript(tmp_path, 25_000_000)

    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        going, drop = find(window.status, QLabel, "status.work"), window.findChild(FolderDrop)
        assert drop
        drop.files_dropped.emit([str(path)])
        drop.files_dropped.emit([])  # wished again before the first has begun: it is one work all the same
        await until(lambda: window.selection.session, "the session")
        session = window.selection.session
        await until(lambda: "Reading" in going.accessibleName(), "how far it is")
        click(find(window.status, QToolButton, "status.cut"))
        await until(lambda: window.row(session).status == "stopped", "it is cut")
        await until(lambda: not going.isVisible(), "all of it is found by its words")
        assert person.notice() == ""

    live(qapp, home, act)


def test_a_file_that_is_opened_while_the_window_is_open_is_shown_in_it(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        person.program.wanted.emit([str(CODEX)])
        await until(lambda: window.row(window.selection.session).source.startswith("Codex:"), "the session")
        person.program.wanted.emit([])  # another start without a file only brings the window forward
        person.program.wanted.emit(["/nowhere/at/all.jsonl"])
        await until(lambda: "cannot be read" in person.notice(), "what went wrong")

    live(qapp, home, act)


def test_a_file_alone_is_a_wish_to_open_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.journeyman.json", "demo"):
        Path(name).write_text("{}")
    read = understood(["a.journeyman.json", str(CODEX)])
    assert (read.command, read.files) == ("open", ["a.journeyman.json", str(CODEX)])
    assert understood(["--home", "x", str(CODEX)]).files == [str(CODEX)]
    assert understood(["open"]).files == [] and understood([]).command is None
    assert understood(["demo"]).command == "demo"  # a command, whatever lies in the folder
    with pytest.raises(UsageError):
        understood(["nothing.json"])


def test_transcripts_may_be_dropped_and_nothing_else(tmp_path: Path) -> None:
    def carried(*paths: Path) -> list[str]:
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
        return files_in(data)

    (tmp_path / "a.png").write_bytes(b"x")
    assert carried(CODEX, CLAUDE) == [str(CODEX), str(CLAUDE)]
    assert carried(CODEX, tmp_path / "a.png") == carried(tmp_path) == carried(tmp_path / "gone.json") == carried() == []
