"""A drop-down list styled like the other input fields."""

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QAccessible, QFontMetrics, QPainter, QPaintEvent, QPalette, QWheelEvent
from PySide6.QtWidgets import QAccessibleWidget, QComboBox

from ui.style.icons import pixmap
from ui.style.theme import TEXT_SIZE
from ui.widgets.paint import draw_frame, draw_line

PADDING = 9
ARROW_SIZE = 14
MIN_HEIGHT = 28


class DropDown(QComboBox):
    """A drop-down list painted in the colors of the application palette."""

    # Qt overrides

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width() + 2 * PADDING, max(MIN_HEIGHT, QFontMetrics(self.font()).height() + 12))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width() + 2 * PADDING, self.sizeHint().height())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the page scroll: the wheel would change a list that only happens to be below the pointer."""
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        group = QPalette.ColorGroup.Active if self.isEnabled() else QPalette.ColorGroup.Disabled
        roles, palette = QPalette.ColorRole, self.palette()
        color = palette.color(group, roles.ButtonText)
        edge = palette.color(roles.Link if self.hasFocus() else roles.Dark)
        with QPainter(self) as painter:
            draw_frame(painter, self.rect(), 6, palette.color(roles.Button), edge)
            size = round(ARROW_SIZE * max(1.0, self.font().pixelSize() / TEXT_SIZE))
            arrow = pixmap("chevron-down", palette.color(roles.PlaceholderText), size, self.devicePixelRatioF())
            left = self.width() - PADDING - size
            painter.drawPixmap(left, (self.height() - size) // 2, arrow)
            draw_line(
                painter, QRect(PADDING, 0, left - 2 * PADDING, self.height()), self.currentText(), self.font(), color
            )


class DropDownInterface(QAccessibleWidget):
    """Presents a drop-down list to screen readers with its label and its choice; on Linux Qt's own omits the label."""

    def __init__(self, drop_down: DropDown) -> None:
        super().__init__(drop_down, QAccessible.Role.ComboBox)
        self._drop_down = drop_down

    # Qt overrides

    def text(self, kind: QAccessible.Text) -> str:
        choice = self._drop_down.currentText()
        if kind == QAccessible.Text.Name:
            return ": ".join(filter(None, (self._drop_down.accessibleName(), choice)))
        return choice if kind == QAccessible.Text.Value else super().text(kind)

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
