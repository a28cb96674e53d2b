"""The step pane: diff previews, attached images, and the context sent to the model."""

import pytest
from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QListView, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from core.timeline.context_item import ContextItem
from tests.ui.timeline.session_data import MemorySteps
from ui.style.theme import Look
from ui.timeline.step_pane import StepPane
from ui.widgets.image_view import ImageView, decode_image, is_image


def png(width: int = 30, height: int = 20) -> bytes:
    image, body = QImage(width, height, QImage.Format.Format_RGB32), QByteArray()
    image.fill(QColor("teal"))
    buffer = QBuffer(body)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(body.data())


def letter() -> MemorySteps:
    rows = MemorySteps()
    rows.add("user", text="Write it")
    rows.add("run")
    rows.add("thinking", object="So be it", number=1, first_seq=3, last_seq=4)
    rows.add("write", object="a.md", number=2, first_seq=5, last_seq=7, key="c1", metrics={"files": 1, "added": 2})
    rows.events[6] = {
        "kind": "file_changed", "call_id": "c1", "path": "a.md", "before": "old", "after": "new", "added": 1,
    }  # fmt: skip
    rows.blobs = {"old": b"one\ntwo\n", "new": b"one\n2\n"}
    return rows


def pane_of(qtbot: QtBot, look: Look, rows: MemorySteps) -> StepPane:
    pane = StepPane(look, rows)
    qtbot.addWidget(pane)
    pane.resize(384, 700)
    with qtbot.waitExposed(pane):
        pane.show()
    return pane


def test_the_pane_is_named_for_screen_readers(qtbot: QtBot, look: Look) -> None:
    pane = pane_of(qtbot, look, letter())
    assert pane.accessibleName() == "Step details"


def test_the_output_of_a_reply_is_its_text_and_of_thinking_its_reasoning(qtbot: QtBot, look: Look) -> None:
    rows = MemorySteps()
    rows.add("thinking", object="Let me see", number=1, first_seq=3, last_seq=4)
    rows.add("reply", object="Done", first_seq=4, last_seq=4)
    rows.events[4] = {"kind": "replied", "seq": 4, "reasoning": {"head": "Let me see."}, "text": {"head": "Done."}}
    rows.texts = {(4, "reasoning"): "Let me see.", (4, "text"): "Done."}
    pane = pane_of(qtbot, look, rows)
    output = pane.findChild(QPlainTextEdit, "step.output")
    assert isinstance(output, QPlainTextEdit)
    for step, shown in zip(rows.rows, ("Let me see.", "Done."), strict=True):
        pane.show_step("s", step)
        assert output.toPlainText() == shown


def test_the_diff_of_a_changed_file(qtbot: QtBot, look: Look) -> None:
    rows = letter()
    pane = pane_of(qtbot, look, rows)
    wanted: list[str] = []
    pane.changes_requested.connect(wanted.append)
    pane.show_step("s", rows.rows[3])
    lines = pane.findChild(QPlainTextEdit, "step.changed.lines")
    more = pane.findChild(QPushButton, "step.changed.all")
    assert isinstance(lines, QPlainTextEdit) and lines.toPlainText() == "  one\n− two\n+ 2"
    assert isinstance(more, QPushButton)
    more.click()
    assert wanted == ["a.md"]


def test_an_image_of_a_result(qtbot: QtBot, look: Look) -> None:
    rows = letter()
    rows.events[7] = {
        "kind": "tool_returned",
        "attachments": [{"name": "wall.png", "media_type": "image/png", "blob": "p", "size": 1}],
    }
    rows.blobs["p"] = png()
    pane = pane_of(qtbot, look, rows)
    pane.show_step("s", rows.rows[3])
    seen = pane.findChild(ImageView)
    assert isinstance(seen, ImageView) and seen.is_valid() and seen.accessibleName().startswith("wall.png · 30 × 20")


def test_non_images_are_not_decoded(look: Look) -> None:
    assert not is_image(b"<svg xmlns='http://www.w3.org/2000/svg'/>") and is_image(png())
    assert decode_image(b"\x89PNG\r\n\x1a\n" + b"\0" * 80).image.isNull()
    assert decode_image(png(5000, 40)).image.width() == 2400


def test_truncated_image_is_rejected_without_output_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    for body in (png()[:8], png()[:60]):
        assert not is_image(body) and decode_image(body).image.isNull()
    assert capfd.readouterr().err == ""


def test_context_is_requested_when_its_tab_is_shown(qtbot: QtBot, look: Look) -> None:
    rows = letter()
    pane = pane_of(qtbot, look, rows)
    asked: list[tuple[str, int]] = []
    gone: list[int] = []
    pane.context_tab.items_requested.connect(lambda session, seq: asked.append((session, seq)))
    pane.row_requested.connect(gone.append)
    pane.show_step("s", rows.rows[3])
    assert pane.visible_tabs() == ["context", "raw"] and asked == []
    pane.show_tab("context")
    assert asked == [("s", 3)]
    pane.show_step("s", rows.rows[2])
    assert asked == [("s", 3)], "both steps belong to the same request"
    pane.context_tab.show_items("s", 9, [ContextItem(1, "user", "late", 5)])
    items = pane.findChild(QListView, "step.context.items")
    assert isinstance(items, QListView) and items.model().rowCount() == 0
    pane.context_tab.show_items(
        "s", 3, [ContextItem(4, "user", "Write it", 5), ContextItem(5, "results:read", "two", 900, "c0")]
    )
    assert [items.model().index(at, 0).data() for at in range(2)] == ["You: Write it, 5 tok", "Result: two, 900 tok"]
    items.clicked.emit(items.model().index(0, 0))
    assert gone == [2]
