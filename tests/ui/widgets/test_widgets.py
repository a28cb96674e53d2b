"""Times in words, plain-text labels, buttons with shortcuts, growing text fields and elided labels."""

from datetime import datetime

import pytest
from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from core.domain.clock import SECOND
from ui.style.theme import Look, load_fonts, load_theme
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import TextField, allow_breaks, label
from ui.widgets.paint import wrapped_height
from ui.widgets.time_formats import age_text, day_heading, short_age, short_time, start_of_day, to_local_time

NOON = int(datetime(2026, 11, 20, 12, 0).astimezone().timestamp()) * SECOND
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND


@pytest.mark.parametrize(
    ("span", "short", "words"),
    [
        (-5 * SECOND, "now", "just now"),
        (59 * SECOND, "now", "just now"),
        (2 * MINUTE, "2m", "2 min ago"),
        (HOUR, "1h", "1 hour ago"),
        (23 * HOUR, "23h", "23 hours ago"),
        (DAY, "1d", "1 day ago"),
        (400 * DAY, "400d", "400 days ago"),
    ],
)
def test_ages(qapp: QApplication, span: int, short: str, words: str) -> None:
    assert (short_age(NOON - span, NOON), age_text(NOON - span, NOON)) == (short, words)


def test_days_have_names(qapp: QApplication) -> None:
    today = to_local_time(NOON).date()
    names = [day_heading(to_local_time(NOON - days * DAY).date(), today) for days in (-1, 0, 1, 2, 6, 7, 60)]
    assert names == ["Today", "Today", "Yesterday", "Wednesday", "Saturday", "November 2026", "September 2026"]


def test_older_times_are_dates(qapp: QApplication) -> None:
    assert short_time(NOON - 5 * MINUTE, NOON) == "11:55"
    assert short_time(NOON - 30 * DAY, NOON) == "21 Oct"


def test_midnight_begins_the_day() -> None:
    midnight = to_local_time(start_of_day(to_local_time(NOON)))
    assert (midnight.date(), midnight.hour, midnight.minute) == (to_local_time(NOON).date(), 0, 0)


def test_labels_never_read_markup(look: Look, qtbot: QtBot) -> None:
    made = label("<h1>x</h1>", look.fonts.text, "second")
    qtbot.addWidget(made)
    assert made.textFormat() == Qt.TextFormat.PlainText and made.property("tone") == "second"


@pytest.mark.colors
def test_button_without_room_leaves_out_the_shortcut(look: Look, qtbot: QtBot) -> None:
    plain, made = (Button(look, "New session", name="b", icon="plus", hint=hint) for hint in ("", "Ctrl+N"))
    for button in (plain, made):
        qtbot.addWidget(button)
        button.setFixedSize(plain.sizeHint())
    assert made.grab().toImage() == plain.grab().toImage(), "the label must not be elided"


def test_button_without_room_elides_only_the_end(look: Look, qtbot: QtBot) -> None:
    made = [Button(look, text, name="b", icon="shield") for text in ("Ask before edits", "Ask before it is edited")]
    for button in made:
        qtbot.addWidget(button)
        button.setFixedSize(60, 28)
    one, other = (button.grab(QRect(0, 0, 40, 28)).toImage() for button in made)
    assert one == other, "the icon and the first letters are the same"


@pytest.mark.colors
def test_button_without_room_keeps_its_padding_and_can_elide_the_start(look: Look, qtbot: QtBot) -> None:
    images = []
    for folder in ("~/projects/site/letters", "~/elsewhere/of/mine/letters"):
        button = Button(look, folder, name="b", icon="folder-open")
        qtbot.addWidget(button)
        button.set_elide_mode(Qt.TextElideMode.ElideLeft)
        button.setFixedSize(100, 28)
        images.append(button.grab().toImage())
    assert images[0].copy(40, 0, 60, 28) == images[1].copy(40, 0, 60, 28), "the last letters are the same"
    column = {images[0].pixel(x, 14) for x in range(3, 10)}
    assert len(column) == 1, "nothing is painted beside the border"


class Brush(QObject):
    """Counts how often a widget is repainted completely."""

    strokes = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent) and isinstance(watched, QWidget):
            self.strokes += event.rect() == watched.rect()
        return False


def test_changed_placeholder_is_repainted(look: Look, qtbot: QtBot) -> None:
    field, brush = TextField(look.fonts.text, max_lines=3), Brush()
    qtbot.addWidget(field)
    field.setPlaceholderText("Add to this run")
    field.viewport().installEventFilter(brush)
    field.show()
    qtbot.waitUntil(lambda: brush.strokes > 0)
    brush.strokes = 0
    field.setPlaceholderText("Continue")
    qtbot.waitUntil(lambda: brush.strokes > 0)


def test_only_long_words_are_made_breakable() -> None:
    assert allow_breaks("a few short words") == "a few short words"
    assert "\u200b" in allow_breaks("x" * 60) and allow_breaks("x" * 60).replace("\u200b", "") == "x" * 60


def test_blocks_grow_with_their_lines(look: Look) -> None:
    font = look.fonts.text
    heights = [wrapped_height(text, font, 200) for text in ("one", "one\ntwo", "x" * 200)]
    assert heights[0] < heights[1] < heights[2]


@pytest.mark.colors
def test_button_makes_room_for_icon_and_shortcut(look: Look, qtbot: QtBot) -> None:
    plain = Button(look, "New session", name="plain")
    full = Button(look, "New session", name="full", tone="primary", icon="plus", hint="Ctrl+N")
    for button in (plain, full):
        qtbot.addWidget(button)
        assert button.sizeHint().height() >= 28
    assert full.sizeHint().width() > plain.sizeHint().width() + 16
    assert full.accessibleName() == "New session" and "Ctrl+N" in full.accessibleDescription()
    before = full.sizeHint()
    full.restyle(Look(load_theme("dark"), load_fonts(2.0)))
    assert full.sizeHint().height() > before.height()
    full.setEnabled(False)
    assert not full.grab().isNull()


@pytest.mark.colors
def test_an_elided_label_has_its_complete_accessible_text(look: Look, qtbot: QtBot) -> None:
    made = ElidedLabel("a line\nthat is far too long for its width", look.fonts.text, name="long")
    qtbot.addWidget(made)
    made.resize(60, 20)
    assert made.accessibleName() == "a line that is far too long for its width"
    assert made.minimumSizeHint().width() < 60
    assert not made.grab().isNull()
