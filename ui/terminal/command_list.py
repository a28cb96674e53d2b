"""The list of the commands of a session, oldest first, with their status, exit code and duration."""

from typing import Any, Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from core.domain.steps import Step
from ui.base.step_presentation import accessible_row_text, badges, status_style
from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.paint import chip_width, draw_chip, draw_line, draw_row_state
from ui.widgets.tooltip import tooltip_text

MAX_COMMANDS: Final = 200
ROW: Final = 29
EDGE: Final = 14
ICON: Final = 16
GAP: Final = 7
MIN_TEXT_WIDTH: Final = 60  # badges are left out rather than making the command shorter

AnyIndex = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()


class CommandsModel(QAbstractListModel):
    """The newest commands, at most `MAX_COMMANDS`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.steps: list[Step] = []

    def clear(self) -> None:
        self.beginResetModel()
        self.steps = []
        self.endResetModel()

    def prepend(self, newest_first: list[Step]) -> None:
        """Add older commands that are not listed yet, as far as there is room."""
        listed = {step.row for step in self.steps}
        added = [step for step in newest_first if step.row not in listed][: MAX_COMMANDS - len(self.steps)]
        if added:
            self.beginInsertRows(NO_PARENT, 0, len(added) - 1)
            self.steps = [*reversed(added), *self.steps]
            self.endInsertRows()

    def update(self, step: Step) -> None:
        """Show the new state of a command, or add it; the oldest one leaves if there are too many."""
        row = self.row_of(step.row)
        if row >= 0:
            self.steps[row] = step
            self.dataChanged.emit(self.index(row), self.index(row))
            return
        self.beginInsertRows(NO_PARENT, len(self.steps), len(self.steps))
        self.steps.append(step)
        self.endInsertRows()
        if len(self.steps) > MAX_COMMANDS:
            self.beginRemoveRows(NO_PARENT, 0, 0)
            del self.steps[0]
            self.endRemoveRows()

    def row_of(self, step_row: int) -> int:
        return next((row for row, step in enumerate(self.steps) if step.row == step_row), -1)

    def step_at(self, row: int) -> Step | None:
        return self.steps[row] if 0 <= row < len(self.steps) else None

    # Qt overrides

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.steps)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        step = self.step_at(index.row()) if index.isValid() else None
        if step is None:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return visible(step.object)
            case Qt.ItemDataRole.AccessibleTextRole:
                return accessible_row_text(step, step.ended_at - step.started_at if step.ended_at else 0)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip_text(step.object)
            case _:
                return None


class CommandDelegate(QStyledItemDelegate):
    """Paints a command: the glyph of its status, its text, and its badges, such as a failing exit code."""

    def __init__(self, commands: CommandsModel, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._commands = commands
        self.look = look

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        step = self._commands.step_at(index.row())
        if step is None:
            return
        theme, fonts, box = self.look.theme, self.look.fonts, QRect(option.rect)
        draw_row_state(painter, option, theme)
        size, style = self.look.size(ICON), status_style(step.status)
        glyph = pixmap(style.icon, theme.color(style.token), size, painter.device().devicePixelRatio())
        painter.drawPixmap(box.x() + EDGE, box.y() + (box.height() - size) // 2, glyph)
        left, right = box.x() + EDGE + size + GAP, box.right() - EDGE + 1
        height = QFontMetrics(fonts.caption).height() + 4
        for badge in reversed([badge for badge in badges(step) if badge.token == "failed"]):
            width = chip_width(badge.text, fonts.caption)
            if right - width - GAP - left < MIN_TEXT_WIDTH:
                break
            chip = QRect(right - width, box.y() + (box.height() - height) // 2, width, height)
            draw_chip(painter, chip, badge.text, fonts.caption, theme.color(badge.token), theme.strong_line)
            right -= width + GAP
        draw_line(painter, QRect(left, box.y(), right - left, box.height()), step.object, fonts.mono, theme.text)

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(0, self.look.size(ROW))
