"""A drop-down list is wide enough for its longest item, and scrolling over input fields does not change them."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QAccessible, QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from ui.style.theme import Look, load_fonts
from ui.widgets.accessible_roles import install_accessible_roles
from ui.widgets.drop_down import ARROW_SIZE, PADDING, DropDown
from ui.widgets.number_field import NumberField


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("longest", ["Allow", "The current text"])
def test_size_hint_fits_the_longest_item(look: Look, scale: float, longest: str) -> None:
    made = DropDown(font=load_fonts(scale).text)
    made.addItems(["last", longest])
    words = QFontMetrics(made.font()).horizontalAdvance(longest)
    assert made.sizeHint().width() >= words + 3 * PADDING + scale * ARROW_SIZE


def test_the_wheel_scrolls_the_page_and_does_not_change_the_field_below_the_pointer(look: Look, qtbot: QtBot) -> None:
    area, page = QScrollArea(), QWidget()
    qtbot.addWidget(area)
    drop_down, number = DropDown(), NumberField()
    drop_down.addItems(["Automatic", "Full", "Compact"])
    number.setValue(60)
    column = QVBoxLayout(page)
    for widget in (drop_down, number):
        column.addWidget(widget)
    column.addSpacing(2_000)
    area.setWidget(page)
    area.show()
    for widget in (drop_down, number):
        widget.setFocus()  # a field that was changed before keeps the focus
        bar = area.verticalScrollBar()
        bar.setValue(0)
        QTest.wheelEvent(area.windowHandle(), widget.mapTo(area, widget.rect().center()), QPoint(0, -120))
        assert bar.value() > 0
    assert drop_down.currentText() == "Automatic" and number.value() == 60


def test_a_screen_reader_reads_the_label_and_the_choice_of_a_drop_down_list_and_opens_it(qtbot: QtBot) -> None:
    install_accessible_roles()
    drop_down = DropDown()
    qtbot.addWidget(drop_down)
    drop_down.addItems(["Automatic", "Full"])
    drop_down.setAccessibleName("Prompt")
    drop_down.setAccessibleDescription("Automatic fits the model.")
    drop_down.show()
    presented = QAccessible.queryAccessibleInterface(drop_down)
    drop_down.setCurrentText("Full")
    assert presented.role() == QAccessible.Role.ComboBox
    texts = [presented.text(kind) for kind in (QAccessible.Text.Name, QAccessible.Text.Value)]
    assert texts == ["Prompt", "Full"]
    assert presented.text(QAccessible.Text.Description) == "Full. Automatic fits the model."
    action = presented.actionInterface()
    action.doAction(action.actionNames()[0])
    assert drop_down.view().isVisible()
