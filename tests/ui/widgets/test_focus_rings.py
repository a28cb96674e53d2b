"""Focus rings and selected rows are visible in the high-contrast theme."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QLineEdit, QTabBar, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.hands import press
from tests.ui.test_theme import SEEN, contrast
from ui.style.theme import Look, apply_theme, load_fonts, load_theme
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.paint import draw_selection


@pytest.fixture
def high(look: Look, qapp: QApplication) -> Look:
    made = Look(load_theme("contrast"), load_fonts())
    apply_theme(qapp, made.theme, made.fonts)
    return made


def tick(look: Look) -> QWidget:
    made = CheckBox(look, "On")
    made.setChecked(True)
    return made


def primary(look: Look) -> QWidget:
    return Button(look, "Start", name="b", tone="primary")


def plain(look: Look) -> QWidget:
    return Button(look, "Start", name="b")


def tabs(look: Look) -> QWidget:
    made = QTabBar()
    made.addTab("Summary")
    made.addTab("Output")
    return made


@pytest.mark.parametrize("make", [tick, primary, plain, tabs])
def test_focused_widget_has_a_visible_ring(high: Look, qtbot: QtBot, make: Callable[[Look], QWidget]) -> None:
    window, field, part = QWidget(), QLineEdit(), make(high)
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    column.addWidget(field)
    column.addWidget(part)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    field.setFocus()
    before = part.grab().toImage()
    press(field, Qt.Key.Key_Tab)
    assert part.hasFocus()
    after = part.grab().toImage()
    places = [(x, y) for x in range(part.width()) for y in range(part.height())]
    new = [at for at in places if contrast(before.pixelColor(*at), after.pixelColor(*at)) >= SEEN]
    assert len(new) > 2 * part.height()


def test_selected_row_has_an_outline(high: Look) -> None:
    image = QImage(60, 28, QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        draw_selection(painter, QRect(0, 0, 60, 28), high.theme)
    assert image.pixelColor(30, 0) == high.theme.chosen
    assert image.pixelColor(30, 14) == high.theme.selection
