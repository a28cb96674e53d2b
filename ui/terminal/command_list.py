"""The list of the commands of a session, oldest first, with their status, exit code and duration."""

from typing import ClassVar, Final

from PySide6.QtCore import QRect
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from core.domain.steps import Step
from ui.base.step_presentation import accessible_row_text, badges, status_style
from ui.style.icons import pixmap
from ui.text.visible import visible
from ui.widgets.item_list import ITEM_ROLE, NOWHERE, AnyIndex, ItemDelegate, ItemListModel
from ui.widgets.paint import chip_width, draw_chip, draw_line, draw_row_state

MAX_COMMANDS: Final = 200
EDGE: Final = 14
ICON: Final = 16
GAP: Final = 7
MIN_TEXT_WIDTH: Final = 60  # pixels; badges that would leave less for the command are omitted


class CommandsModel(ItemListModel[Step]):
    """The newest commands, at most `MAX_COMMANDS`."""

    def accessible_text(self, item: Step) -> str:
        return accessible_row_text(item, item.ended_at - item.started_at if item.ended_at else 0)

    def text_of(self, item: Step) -> str:
        return visible(item.object)

    def tooltip_of(self, item: Step) -> str:
        return item.object

    def prepend(self, newest_first: list[Step]) -> None:
        """Add older commands at the beginning, up to the maximum number."""
        listed = {step.row for step in self.items}
        added = [step for step in newest_first if step.row not in listed][: MAX_COMMANDS - len(self.items)]
        if added:
            self.beginInsertRows(NOWHERE, 0, len(added) - 1)
            self.items = [*reversed(added), *self.items]
            self.endInsertRows()

    def update(self, step: Step) -> None:
        """Update a command, or add it. If there are too many, the oldest one is removed."""
        row = self.row_of(step.row)
        if row >= 0:
            self.items[row] = step
            self.dataChanged.emit(self.index(row), self.index(row))
            return
        self.beginInsertRows(NOWHERE, len(self.items), len(self.items))
        self.items.append(step)
        self.endInsertRows()
        if len(self.items) > MAX_COMMANDS:
            self.beginRemoveRows(NOWHERE, 0, 0)
            del self.items[0]
            self.endRemoveRows()

    def row_of(self, step_row: int) -> int:
        return next((row for row, step in enumerate(self.items) if step.row == step_row), -1)


class CommandDelegate(ItemDelegate):
    """Paints a command: the icon of its status, its text, and badges, such as the exit code of a failed command."""

    ROW_HEIGHT: ClassVar = 29

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        step = index.data(ITEM_ROLE)
        if not isinstance(step, Step):
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
