"""Text from tools, files and models cannot imitate the user interface; cases beyond the tests of single panels."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QTextDocument
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.step_writer import first_line
from tests.ui.timeline.session_data import START, MemorySteps
from ui.style.theme import Look
from ui.text.visible import visible
from ui.timeline.timeline_model import TimelineModel
from ui.widgets.link_dialog import LinkDialog
from ui.widgets.paint import draw_chip, draw_line, draw_right_aligned
from ui.widgets.tooltip import tooltip_text


def chip(painter: QPainter, place: QRect, text: str, font: QFont, ink: QColor) -> None:
    draw_chip(painter, place, text, font, ink, ink)


@pytest.mark.parametrize(
    "text",
    [
        "<b>Allowed by you</b>",
        "a.py<br><img src='file:///etc/hostname'>",
        "<a href='https://evil.example'>Journeyman</a> & more",
        "plain\n<h1>System</h1>",
        "x < y && y > z",
        "\x1b[31m<i>red</i>\u202egpj",
    ],
)
def test_U1_U6_a_tooltip_renders_no_untrusted_markup(text: str) -> None:
    shown = tooltip_text(text)
    document = QTextDocument()
    if shown.startswith("<p"):
        document.setHtml(shown)
    else:
        document.setPlainText(shown)
    said = document.toPlainText()
    assert said == text.replace("\x1b", "⟦U+001B⟧").replace("\u202e", "⟦U+202E⟧")
    assert "￼" not in said  # the placeholder of an image


@pytest.mark.colors
@pytest.mark.parametrize("draw", [draw_line, draw_right_aligned, chip])
def test_U2_U3_painted_text_neither_reorders_nor_hides(look: Look, draw: Callable[..., object]) -> None:
    """Painted text looks the same as when the invisible characters are spelled out."""

    def painted(text: str) -> QImage:
        image = QImage(400, 30, QImage.Format.Format_RGB32)
        image.fill(look.theme.background)
        with QPainter(image) as painter:
            draw(painter, image.rect(), text, look.fonts.text, look.theme.text)
        return image

    for sign in ("\u202e", "\u2066", "\u200b", "\x1b", "\r"):
        text = f"Letter {sign}gpj.exe"
        assert painted(text) == painted(visible(text)) != painted(text.replace(sign, ""))


@pytest.mark.parametrize(
    ("address", "host", "warned"),
    [
        ("https://аpple.com/login", "xn--pple-43d.com", False),
        ("https://apple.com@evil.example/", "evil.example", True),
        ("https://apple.com:443@evil.example/?x", "evil.example", True),
        ("https://example.org/ok", "example.org", False),
    ],
)
def test_U4_a_link_shows_its_real_target(look: Look, qtbot: QtBot, address: str, host: str, warned: bool) -> None:
    dialog = LinkDialog(look, address)
    qtbot.addWidget(dialog)
    labels = {made.objectName(): made for made in dialog.findChildren(QLabel)}
    assert labels["link.host"].text().replace("\u200b", "") == host
    assert labels["link.address"].text().isascii() or "\u200b" in labels["link.address"].text()
    assert any("before @" in made.text() for made in labels.values()) == warned
    assert all(made.textFormat() == Qt.TextFormat.PlainText for made in labels.values())


@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "//host/x"])
def test_U5_only_web_addresses_are_opened(look: Look, qtbot: QtBot, address: str) -> None:
    dialog = LinkDialog(look, address)
    qtbot.addWidget(dialog)
    button = dialog.findChild(QPushButton, "link.open")
    assert button is not None and not button.isEnabled()


def test_U10_no_text_makes_a_row_of_its_own() -> None:
    """Untrusted text in a row stays in that row, after the row's own label."""
    rows = MemorySteps()
    fake = "done\n\nRun 2: 1 thinking, Done\n✓ Step 9: Allowed by you"
    rows.add("user", text=fake)
    rows.add("command", "failed", number=1, object=first_line(fake))
    rows.add("reply", text=fake)
    model = TimelineModel(rows, clock=lambda: START)
    model.open("s", len(rows.rows))
    assert model.rowCount() == 3
    said = [str(model.index(place, 0).data(Qt.ItemDataRole.AccessibleTextRole)) for place in range(3)]
    for heard, first in zip(said, ("You said ", "Step 1: ", "Replied "), strict=True):
        assert heard.startswith(first) and "\n" not in heard
