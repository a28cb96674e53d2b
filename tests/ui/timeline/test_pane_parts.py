"""The step's pane: what was changed, what was seen, what the model was sent."""

import pytest
from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QListView, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from core.timeline.ledger import Item
from tests.ui.timeline.journals import ListedRows
from ui.theme import Look
from ui.timeline.step_pane import StepPane
from ui.widgets.picture import PictureView, is_picture, read_picture


def png(width: int = 30, height: int = 20) -> bytes:
    image, body = QImage(width, height, QImage.Format.Format_RGB32), QByteArray()
    image.fill(QColor("teal"))
    buffer = QBuffer(body)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(body.data())


def letter() -> ListedRows:
    rows = ListedRows()
    rows.add("person", said="Write it")
    rows.add("run")
    rows.add("thinking", object="So be it", number=1, first=3, last=4)
    rows.add("write", object="a.md", number=2, first=5, last=7, key="c1", marks={"files": 1, "added": 2})
    rows.entries[6] = {
        "kind": "file_changed", "call_id": "c1", "path": "a.md", "before": "old", "after": "new", "added": 1,
    }  # fmt: skip
    rows.bodies = {"old": b"one\ntwo\n", "new": b"one\n2\n"}
    return rows


def pane_of(qtbot: QtBot, look: Look, rows: ListedRows) -> StepPane:
    pane = StepPane(look, rows)
    qtbot.addWidget(pane)
    pane.resize(384, 700)
    with qtbot.waitExposed(pane):
        pane.show()
    return pane


def test_the_difference_of_a_changed_file(qtbot: QtBot, look: Look) -> None:
    rows = letter()
    pane = pane_of(qtbot, look, rows)
    wanted: list[str] = []
    pane.changes_wanted.connect(wanted.append)
    pane.show_step("s", rows.rows[3])
    lines = pane.findChild(QPlainTextEdit, "step.changed.lines")
    more = pane.findChild(QPushButton, "step.changed.all")
    assert isinstance(lines, QPlainTextEdit) and lines.toPlainText() == "  one\n− two\n+ 2"
    assert isinstance(more, QPushButton)
    more.click()
    assert wanted == ["a.md"]


def test_a_picture_that_came_with_a_result(qtbot: QtBot, look: Look) -> None:
    rows = letter()
    rows.entries[7] = {
        "kind": "tool_returned",
        "attachments": [{"name": "wall.png", "media_type": "image/png", "blob": "p", "size": 1}],
    }
    rows.bodies["p"] = png()
    pane = pane_of(qtbot, look, rows)
    pane.show_step("s", rows.rows[3])
    seen = pane.findChild(PictureView)
    assert isinstance(seen, PictureView) and seen.can_show() and seen.accessibleName().startswith("wall.png · 30 × 20")


def test_what_is_no_picture_is_not_looked_into(look: Look) -> None:
    assert not is_picture(b"<svg xmlns='http://www.w3.org/2000/svg'/>") and is_picture(png())
    assert read_picture(b"\x89PNG\r\n\x1a\n" + b"\0" * 80)[0].isNull()
    assert read_picture(png(5000, 40))[0].width() == 2400


def test_a_picture_that_was_cut_is_none_and_nothing_is_written_of_it(capfd: pytest.CaptureFixture[str]) -> None:
    for body in (png()[:8], png()[:60]):
        assert not is_picture(body) and read_picture(body)[0].isNull()
    assert capfd.readouterr().err == ""


def test_what_the_model_was_sent_is_asked_for_when_it_is_looked_at(qtbot: QtBot, look: Look) -> None:
    rows = letter()
    pane = pane_of(qtbot, look, rows)
    asked: list[tuple[str, int]] = []
    gone: list[int] = []
    pane.sent.wanted.connect(lambda session, seq: asked.append((session, seq)))
    pane.row_wanted.connect(gone.append)
    pane.show_step("s", rows.rows[3])
    assert pane.parts() == ["context", "raw"] and asked == []
    pane.show_part("context")
    assert asked == [("s", 3)]
    pane.show_step("s", rows.rows[2])
    assert asked == [("s", 3)], "the same request"
    pane.sent.show_items("s", 9, [Item(1, "person", "late", 5)])
    items = pane.findChild(QListView, "step.context.items")
    assert isinstance(items, QListView) and items.model().rowCount() == 0
    pane.sent.show_items("s", 3, [Item(4, "person", "Write it", 5), Item(5, "results:read", "two", 900, "c0")])
    assert [items.model().index(at, 0).data() for at in range(2)] == ["You: Write it, 5 tok", "Result: two, 900 tok"]
    items.clicked.emit(items.model().index(0, 0))
    assert gone == [2]
