"""The entry of a local model: what it says and offers in each state."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.problems import ErrorDetails
from core.models.local.model_state import DownloadProgress, LocalModelRow, ModelSpeed
from tests.ui.hands import click, find
from ui.style.theme import Look
from ui.widgets.local_model_entry import LocalModelEntry

GB = 10**9
HALF = DownloadProgress(GB // 2, GB, GB / 100)
FAULT = ErrorDetails("No network.", "Refused.", "Wait.")


def row(**changes: object) -> LocalModelRow:
    values: dict[str, object] = {
        "name": "tiny", "title": "Tiny 1B", "purpose": "Small edits", "license": "MIT", "size": GB, "memory": 2 * GB,
        "window": 4096,
    }  # fmt: skip
    return LocalModelRow(**{**values, **changes})  # type: ignore[arg-type]


def shown(look: Look, qtbot: QtBot, model: LocalModelRow, hint: str = "", *, settings: bool = False) -> LocalModelEntry:
    entry = LocalModelEntry(look, "entry", title="" if settings else "Run a model here", can_remove=settings)
    qtbot.addWidget(entry)
    entry.show_row(model, hint)
    entry.show()
    return entry


def buttons(entry: LocalModelEntry) -> list[str]:
    return [button.text() for button in entry.findChildren(QPushButton) if button.isVisible()]


def state(entry: LocalModelEntry) -> str:
    return find(entry, QLabel, "entry.state").text().replace("\u200b", "")


@pytest.mark.parametrize(
    ("model", "hint", "offered", "said"),
    [
        (row(), "", {"Download", "Other models…"}, ""),
        (row(download=HALF), "", {"Pause", "Cancel"}, "50% of 1.0 GB · 10.0 MB/s · 50s left"),
        (row(download=DownloadProgress(0, GB)), "", {"Pause", "Cancel"}, "0% of 1.0 GB"),
        (row(partial=GB // 4), "", {"Resume", "Cancel"}, "Paused at 25%"),
        (row(error=FAULT), "", {"Try again", "Other models…"}, "No network. Refused. Wait."),
        (row(fits=False), "", {"Other models…"}, "It does not fit in the memory"),
        (row(), "pip install xllamacpp", {"Other models…"}, "pip install xllamacpp"),
        (row(path="/m", origin="Ollama"), "", {"Use", "Other models…"}, "On this computer, from Ollama"),
    ],
)  # fmt: skip
def test_each_state_says_what_can_be_done(
    look: Look, qtbot: QtBot, model: LocalModelRow, hint: str, offered: set[str], said: str
) -> None:
    entry = shown(look, qtbot, model, hint)
    assert set(buttons(entry)) == offered and said in state(entry)
    text = find(entry, QLabel, "entry.text").text()
    assert all(part in text for part in ("Tiny 1B", "Small edits", "1.0 GB", "needs 2.0 GB of memory", "MIT"))
    bar = find(entry, QProgressBar, "entry.progress")
    assert bar.isVisible() == (model.download is not None or model.partial > 0)


def test_the_settings_show_the_speed_and_delete_only_own_files(look: Look, qtbot: QtBot) -> None:
    speed = ModelSpeed(61.5, 18.0)
    entry = shown(look, qtbot, row(path="/m", origin="Journeyman", speed=speed), settings=True)
    assert set(buttons(entry)) == {"Use", "Delete"} and "reads 61.5 tokens/s · writes 18 tokens/s" in state(entry)
    entry.show_row(row(path="/m", origin="LM Studio"), default_model="local/tiny")
    assert buttons(entry) == []


def test_a_double_click_does_not_pause_the_download_that_it_starts(look: Look, qtbot: QtBot) -> None:
    entry = shown(look, qtbot, row())
    requested: list[tuple[str, str]] = []
    button = find(entry, QPushButton, "entry")

    def on_request(action: str, name: str) -> None:
        requested.append((action, name))
        entry.show_row(row(download=DownloadProgress(0, GB)))

    entry.action_requested.connect(on_request)
    click(button)
    QTest.mouseDClick(button, Qt.MouseButton.LeftButton)
    assert requested == [("download", "tiny")]
    click(button)
    assert requested[-1] == ("pause", "tiny")


def test_buttons_are_below_each_other_if_they_would_leave_the_texts_too_little_width(look: Look, qtbot: QtBot) -> None:
    entry = shown(look, qtbot, row())
    other, main = (button for button in entry.findChildren(QPushButton) if button.isVisible())
    for width, below in ((400, True), (680, False)):
        entry.resize(width, 200)
        qtbot.waitUntil(lambda below=below: (abs(other.y() - main.y()) > 10) == below)  # type: ignore[misc]
