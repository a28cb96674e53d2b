"""A drop-down list with the style of the other input fields."""

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QFont,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QPalette,
    QWheelEvent,
)
from PySide6.QtWidgets import QAccessibleWidget, QComboBox

from ui.style.icons import pixmap
from ui.style.theme import TEXT_SIZE
from ui.widgets.paint import draw_frame, draw_line

PADDING = 9
ARROW_SIZE = 14
MIN_HEIGHT = 28


def field_height(font: QFont) -> int:
    """Return the height of a drop-down list or number field, which grows with the text."""
    return max(MIN_HEIGHT, QFontMetrics(font).height() + 12)


class DropDown(QComboBox):
    """A drop-down list in the colors of the application palette. `title` is its accessible name."""

    def __init__(self, *, name: str = "", title: str = "", font: QFont | None = None) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        if font is not None:
            self.setFont(font)
        self.currentTextChanged.connect(self._report_choice)

    def _report_choice(self) -> None:
        """Notify screen readers that the accessible description, which contains the choice, has changed."""
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.DescriptionChanged))

    def _arrow_size(self) -> int:
        return round(ARROW_SIZE * max(1.0, self.font().pixelSize() / TEXT_SIZE))

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        width = super().sizeHint().width() + 2 * PADDING + self._arrow_size() - ARROW_SIZE
        return QSize(width, field_height(self.font()))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width() + 2 * PADDING, self.sizeHint().height())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Pass the wheel event to the page, so that scrolling the page does not change a list below the pointer."""
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        group = QPalette.ColorGroup.Active if self.isEnabled() else QPalette.ColorGroup.Disabled
        roles, palette = QPalette.ColorRole, self.palette()
        color = palette.color(group, roles.ButtonText)
        edge = palette.color(roles.Link if self.hasFocus() else roles.Dark)
        with QPainter(self) as painter:
            draw_frame(painter, self.rect(), 6, palette.color(roles.Button), edge)
            size = self._arrow_size()
            arrow = pixmap("chevron-down", palette.color(roles.PlaceholderText), size, self.devicePixelRatioF())
            left = self.width() - PADDING - size
            painter.drawPixmap(left, (self.height() - size) // 2, arrow)
            text = self.currentText() if self.currentIndex() >= 0 else self.placeholderText()
            draw_line(painter, QRect(PADDING, 0, left - 2 * PADDING, self.height()), text, self.font(), color)


class DropDownInterface(QAccessibleWidget):
    """Presents a drop-down list to screen readers: its label is the name, its choice is the value and the description.

    On Linux, Qt itself presents the choice as the name. It does not pass on the value there, but the description.
    """

    def __init__(self, drop_down: DropDown) -> None:
        super().__init__(drop_down, QAccessible.Role.ComboBox)
        self._drop_down = drop_down

    # Overridden Qt methods

    def text(self, kind: QAccessible.Text) -> str:
        choice = self._drop_down.currentText() or self._drop_down.placeholderText()
        match kind:
            case QAccessible.Text.Name:
                return self._drop_down.accessibleName()
            case QAccessible.Text.Value:
                return choice
            case QAccessible.Text.Description:
                return ". ".join(filter(None, (choice, self._drop_down.accessibleDescription())))
            case _:
                return super().text(kind)

    def state(self) -> QAccessible.State:
        state = super().state()
        state.expandable = True
        state.expanded = self._drop_down.view().isVisible()
        return state

    def actionNames(self) -> list[str]:
        return [self.showMenuAction(), *super().actionNames()]

    def doAction(self, name: str) -> None:
        if name == self.showMenuAction():
            self._drop_down.showPopup()
        else:
            super().doAction(name)
