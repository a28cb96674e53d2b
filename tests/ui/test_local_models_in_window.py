"""A local model in the real window: downloaded with one click, paused, resumed, and used for a first task."""

import json
import os
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractItemModel, QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QTableView,
    QWidget,
)

from core.models.local.local_models import LocalModels
from core.models.local.model_table import LocalModel
from tests.core.models.local.file_server import FileServer, serving_file
from tests.core.models.local.made_gguf import made_gguf, write_gguf
from tests.core.models.local.test_download import model_of
from tests.core.models.local.test_local_models import STAND_IN
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import Person, live, until
from ui.base.drop_filter import DropFilter, dragged_model_files
from ui.widgets.local_model_entry import LocalModelEntry

CONTENT = json.dumps({"text": "The bathroom is damp. " * 1000}).encode()
HALF = len(CONTENT) // 2


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A mirror that stops after half of the file until it is released; the table names a model on it."""
    with serving_file(FileServer(CONTENT, hold_at=HALF)) as server:
        row = model_of(CONTENT)
        model = LocalModel(row.name, "Tiny 1B", "Tests", "MIT", row.size, 1, 4096, row.sha256, (server.url,))
        make = partial(LocalModels, table={"tiny": model}, script=STAND_IN)
        monkeypatch.setattr("app.process.services.LocalModels", make)
        yield server


def button(person: Person, text: str) -> QPushButton | None:
    """Return the visible button with this text in the card of the local model."""
    card = find(person.window.start, QWidget, "start.local_model.entry")
    found = [one for one in card.findChildren(QPushButton) if one.text() == text and one.isVisible()]
    return found[0] if found else None


def state(person: Person) -> str:
    return find(person.window.start, QLabel, "start.local_model.state").text()


async def click_when_shown(person: Person, text: str) -> None:
    click(await until(lambda: button(person, text), text))


def in_window(qapp: QApplication, home: Path, act: Callable[[Person], Awaitable[None]]) -> None:
    live(qapp, home, act)


def test_one_click_downloads_a_model_that_then_does_a_sample_task(
    qapp: QApplication, home: Path, server: FileServer
) -> None:
    async def act(person: Person) -> None:
        start, status = person.window.start, find(person.window, QPushButton, "status.models")
        download = await until(lambda: button(person, "Download"), "the offer")
        assert person.shell.focusWidget() is start
        for name in ("start.local_model.other", "start.local_model"):
            press(person.shell.focusWidget(), Qt.Key.Key_Tab)
            assert person.shell.focusWidget().objectName() == name
        press(download, Qt.Key.Key_Space)
        await until(lambda: "50% of" in state(person) or None, "the progress in the card")
        await until(lambda: "Downloading Tiny 1B: 50%" in status.text() or None, "the progress in the status line")
        await click_when_shown(person, "Pause")
        await until(lambda: state(person) == "Paused at 50%" or None, "the pause")
        server.release.set()
        await click_when_shown(person, "Resume")
        task = find(start, QPlainTextEdit, "start.task")
        await until(lambda: "photos.csv" in task.toPlainText() or None, "the sample task")
        assert server.requested == ["", f"bytes={HALF}-"] and not status.isVisible()
        assert find(start, QComboBox, "start.model").currentText() == "local/tiny"
        assert (Path(start.form.folder) / "notes.md").exists()
        press(task, Qt.Key.Key_Return)
        await until(lambda: person.window.view.session or None, "the session")
        session = person.window.view.session
        await until(lambda: person.window.row(session).status == "done" or None, "the end of the run")

    in_window(qapp, home, act)


def test_an_interrupted_download_is_offered_after_a_restart_and_can_be_canceled(
    qapp: QApplication, home: Path, server: FileServer
) -> None:
    async def begin(person: Person) -> None:
        await click_when_shown(person, "Download")
        await until(lambda: "50% of" in state(person) or None, "the progress")

    async def end(person: Person) -> None:
        await until(lambda: state(person) == "Paused at 50%" or None, "the interrupted download")
        await click_when_shown(person, "Cancel")
        await until(lambda: button(person, "Download"), "the model as it was")
        assert list((home / "models").iterdir()) == []

    in_window(qapp, home, begin)
    in_window(qapp, home, end)


def test_a_failed_download_says_why_and_can_be_tried_again(qapp: QApplication, home: Path, server: FileServer) -> None:
    server.content, whole = CONTENT[:-1] + b"x", server.content
    server.release.set()

    async def act(person: Person) -> None:
        await click_when_shown(person, "Download")
        await until(lambda: "SHA-256" in state(person) or None, "the error")
        server.content = whole
        await click_when_shown(person, "Try again")
        task = find(person.window.start, QPlainTextEdit, "start.task")
        await until(lambda: task.toPlainText() or None, "the sample task")

    in_window(qapp, home, act)


def test_a_model_file_is_dropped_on_the_window(
    qapp: QApplication, home: Path, tmp_path: Path, server: FileServer
) -> None:
    path = write_gguf(tmp_path / "mine.gguf")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    assert dragged_model_files(data) == [str(path)]

    async def act(person: Person) -> None:
        await until(lambda: button(person, "Download"), "the start screen")
        copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
        event = QDropEvent(QPointF(5, 5), copy, data, left, Qt.KeyboardModifier.NoModifier)
        drop_filter = person.window.findChild(DropFilter)
        assert drop_filter is not None and drop_filter.eventFilter(person.window, event)  # as Qt calls it for a drop
        models = find(person.window.start, QComboBox, "start.model")
        await until(lambda: models.currentText() == "local/mine" or None, "the model of the file")

    in_window(qapp, home, act)


def test_a_bad_file_among_dropped_ones_is_reported_and_the_others_are_added(
    qapp: QApplication, home: Path, tmp_path: Path, server: FileServer
) -> None:
    good = [str(write_gguf(tmp_path / f"{name}.gguf")) for name in ("first", "last")]
    (bad := tmp_path / "bad.gguf").write_text("not a model")

    async def act(person: Person) -> None:
        await until(lambda: button(person, "Download"), "the start screen")
        drop_filter = person.window.findChild(DropFilter)
        assert drop_filter is not None
        drop_filter.models_dropped.emit([good[0], str(bad), good[1]])
        models = find(person.window.start, QComboBox, "start.model")
        await until(lambda: models.findText("local/first") >= 0, "the first model")
        await until(lambda: models.currentText() == "local/last" or None, "the last model")
        assert models.findText("local/bad") < 0
        await until(lambda: "bad.gguf" in shown_error(person) or None, "the error")

    in_window(qapp, home, act)


def shown_error(person: Person) -> str:
    return person.window.notice.accessibleName()


def test_the_timeline_says_what_the_model_does_and_takes_the_focus(
    qapp: QApplication, home: Path, tmp_path: Path, server: FileServer
) -> None:
    pipe = tmp_path / "prompt"
    os.mkfifo(pipe)
    (home / "models").mkdir(parents=True)
    (home / "models" / "tiny.gguf").write_text(json.dumps({"text": "Damp.", "wait": str(pipe)}))

    async def act(person: Person) -> None:
        await click_when_shown(person, "Use")
        task = find(person.window.start, QPlainTextEdit, "start.task")
        await until(lambda: "photos.csv" in task.toPlainText() or None, "the sample task")
        go = find(person.window.start, QPushButton, "start.go")
        await until(lambda: go.isEnabled() or None, "the form")
        go.setFocus()
        click(go)
        await until(lambda: person.window.view.session or None, "the session")
        view = person.window.view
        await until(lambda: "reading the prompt, 50%" in last_row(view.page.model) or None, "the progress")
        assert view.page.focusWidget() is not None and isinstance(view.page.focusWidget(), QTableView)
        pipe.write_text("go on")
        await until(lambda: person.window.row(view.session).status == "done" or None, "the end of the run")

    in_window(qapp, home, act)


def last_row(model: QAbstractItemModel) -> str:
    return str(model.index(model.rowCount() - 1, 0).data() or "")


def test_the_settings_delete_a_model(qapp: QApplication, home: Path, server: FileServer) -> None:
    (home / "models").mkdir(parents=True)
    (home / "models" / "tiny.gguf").write_bytes(CONTENT)

    async def act(person: Person) -> None:
        await until(lambda: button(person, "Use"), "the start screen")
        click(find(person.window.start, QPushButton, "start.local_model.other"))
        dialog = await until(lambda: QApplication.activeModalWidget(), "the settings")
        delete = find(dialog, QPushButton, "settings.local.tiny.other")
        await until(lambda: delete.text() == "Delete" or None, "the model in the settings")
        click(delete)
        download = find(dialog, QPushButton, "settings.local.tiny")
        await until(lambda: download.text() == "Download" or None, "the model as it was")
        assert not (home / "models" / "tiny.gguf").exists()
        dialog.close()

    in_window(qapp, home, act)


def test_the_settings_download_from_an_address_and_say_what_is_wrong(
    qapp: QApplication, home: Path, server: FileServer
) -> None:
    async def act(person: Person) -> None:
        await until(lambda: button(person, "Download"), "the start screen")
        click(find(person.window.start, QPushButton, "start.local_model.other"))
        dialog = await until(lambda: QApplication.activeModalWidget(), "the settings")
        footer = find(dialog, QLabel, "settings.said")
        fetch = find(dialog, QPushButton, "settings.local.fetch")
        server.release.set()
        fetch_from(fetch, f"{server.url}/wrong.gguf")
        await until(lambda: "not a file in the GGUF format" in footer.text() or None, "the error")
        server.content = made_gguf()
        fetch_from(fetch, f"{server.url}/right.gguf")
        use = await until(lambda: dialog.findChild(QPushButton, "settings.local.right"), "the model")
        await until(lambda: use.text() == "Use" or None, "the end of the download")
        rows = find(dialog, QWidget, "settings.local").findChildren(LocalModelEntry)
        assert min(rows, key=lambda row: row.y()).objectName() == "settings.local.right.entry"
        dialog.close()

    in_window(qapp, home, act)


def fetch_from(fetch: QPushButton, address: str) -> None:
    click(fetch)
    (field,) = (field for field in QApplication.allWidgets() if field.objectName() == "model_address.value")
    write(field, address)
    press(field, Qt.Key.Key_Return)
