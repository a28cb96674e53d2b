"""Files, commands and pictures in a message, sending now, and saved attachments."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QRect, Qt, QUrl
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from tests.ui.hands import click, find, press, write
from ui.composer.panel import ComposerCommand, ComposerPanel
from ui.message.completion import best_matches
from ui.style.theme import Look, load_fonts


@pytest.fixture
def panel(look: Look, qtbot: QtBot) -> ComposerPanel:
    made = ComposerPanel(look)
    qtbot.addWidget(made)
    made.resize(600, 300)
    made.show()
    made.set_session("s", "")
    commands = {"stop": ComposerCommand("run.stop", "Stop the run"), "pin": ComposerCommand("session.pin", "Pin")}
    made.set_commands(commands)
    field(made).setFocus()
    return made


def field(panel: ComposerPanel) -> QPlainTextEdit:
    return find(panel, QPlainTextEdit, "composer.input")


def test_ctrl_enter_sends_now(panel: ComposerPanel, qtbot: QtBot) -> None:
    write(field(panel), "at once")
    with qtbot.waitSignal(panel.submitted_now) as said:
        press(field(panel), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert said.args == ["at once"] and panel.draft() == ""


def test_many_attachments_can_be_told_apart(panel: ComposerPanel, qtbot: QtBot, tmp_path: Path) -> None:
    names = [f"quarterly-report-of-the-northern-branch-and-others-{number}.txt" for number in range(8)]
    for name in names:
        (tmp_path / name).write_text(name)
    panel.attached.add_paths([str(tmp_path / name) for name in names])
    bar = panel.attached
    qtbot.waitUntil(lambda: bar.height() >= bar.heightForWidth(bar.width()) > 30)
    chips = [part for part in bar.findChildren(QLabel) if part.isVisible()]
    texts = [chip.text() for chip in chips]
    assert len(set(texts)) == len(names) and all(".txt" in text and "…" in text for text in texts)
    boxes = [QRect(chip.mapTo(bar, QPoint(0, 0)), chip.size()) for chip in chips]
    assert all(box.width() >= chip.sizeHint().width() for box, chip in zip(boxes, chips, strict=True))
    assert all(bar.rect().contains(box) for box in boxes), "every chip is inside the bar, in several lines"
    assert not any(one.intersects(other) for at, one in enumerate(boxes) for other in boxes[:at])
    assert not bar.geometry().intersects(field(panel).geometry())


def test_file_names_are_completed(panel: ComposerPanel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.files_requested):
        write(field(panel), "read @ma")
    panel.completion.set_results(["a.py", "src/main.py", "deep/mail.txt"], {})
    assert panel.completion.isVisible() and panel.completion.count() == 2
    press(field(panel), Qt.Key.Key_Down)
    press(field(panel), Qt.Key.Key_Tab)
    assert panel.draft() == "read @deep/mail.txt "
    assert not panel.completion.isVisible()
    write(field(panel), "@x")
    press(field(panel), Qt.Key.Key_Escape)
    assert panel.draft() == "read @deep/mail.txt @x"
    assert best_matches(["b/xa", "a/b"], "a", 9) == ["b/xa", "a/b"] and best_matches(["xa", "a"], "a", 9) == ["a", "xa"]


def test_files_are_listed_again_for_the_next_word(panel: ComposerPanel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.files_requested):
        write(field(panel), "read @ma")
    panel.completion.set_results([], {})
    with qtbot.waitSignal(panel.files_requested):
        write(field(panel), " and @ma")
    panel.completion.set_results(["made.py"], {})
    assert panel.completion.isVisible(), "the agent created it in the meantime"


def test_a_command_is_completed_and_executed(panel: ComposerPanel, qtbot: QtBot) -> None:
    write(field(panel), "/st")
    press(field(panel), Qt.Key.Key_Return)
    assert panel.draft() == "/stop"
    with qtbot.waitSignal(panel.command_submitted) as told:
        press(field(panel), Qt.Key.Key_Return)
    assert told.args == ["run.stop"] and panel.draft() == ""
    panel.completion.set_results([], {"review": "Look it over"})
    write(field(panel), "/re")
    press(field(panel), Qt.Key.Key_Tab)
    assert panel.draft() == "/review"
    field(panel).clear()
    write(field(panel), "/other is a message")
    with qtbot.waitSignal(panel.submitted):
        press(field(panel), Qt.Key.Key_Return)


@pytest.mark.colors
def test_files_and_images_are_attached_removed_and_kept_with_their_session(
    panel: ComposerPanel, look: Look, qtbot: QtBot, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    note.write_text("hello")
    given = QMimeData()
    given.setUrls([QUrl.fromLocalFile(str(note)), QUrl.fromLocalFile(str(tmp_path))])
    with qtbot.waitSignal(panel.attached.rejected) as refused:
        field(panel).insertFromMimeData(given)
    assert refused.args is not None and "It is a folder" in refused.args[1]
    picture = QImage(4, 4, QImage.Format.Format_RGB32)
    picture.fill(QColor("red"))
    pasted = QMimeData()
    pasted.setImageData(picture)
    field(panel).insertFromMimeData(pasted)
    assert [(file.name, file.media_type) for file in panel.attached.files()] == [
        ("note.md", "text/markdown"), ("picture-2.png", "image/png"),
    ]  # fmt: skip
    assert panel.draft() == ""
    panel.set_session("other", "")
    assert panel.attached.files() == () and not panel.attached.isVisible()
    panel.set_session("s", "")
    click(find(panel, QPushButton, "composer.attached.1.remove"))
    assert [file.name for file in panel.attached.files()] == ["picture-2.png"]
    panel.restyle(Look(look.theme, load_fonts(2.0)))
    with qtbot.waitSignal(panel.submitted) as said:
        panel.submit()
    assert said.args == [""] and len(panel.attached.take()) == 1


def test_code_is_attached_as_text(panel: ComposerPanel, tmp_path: Path) -> None:
    code = {"a.ts": b"let a = 1;", "b.sh": b"ls", "c.sql": b"select 1;", "d.svg": b"<svg/>", "e.bin": b"\0\1"}
    for name, body in code.items():
        (tmp_path / name).write_bytes(body)
    panel.attached.add_paths([str(tmp_path / name) for name in code])
    kinds = [file.media_type for file in panel.attached.take()]
    assert all(kind.startswith("text/") for kind in kinds[:4]) and kinds[4] == "application/octet-stream"


def test_no_two_images_have_the_same_name(panel: ComposerPanel) -> None:
    for size in (4, 5, 6):
        pasted = QMimeData()
        picture = QImage(size, size, QImage.Format.Format_RGB32)
        picture.fill(QColor("red"))
        pasted.setImageData(picture)
        panel.attached.add_mime_data(pasted)
        if size == 5:
            click(find(panel, QPushButton, "composer.attached.1.remove"))
    assert [file.name for file in panel.attached.files()] == ["picture-2.png", "picture-3.png"]
