"""The list of skills and proposals in groups, with two lines of text for each."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import (
    QModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QWidget

from ui.skills.list_items import (
    ARCHIVED,
    ProposalItem,
    SkillGroupHeading,
    SkillItem,
    SkillListItem,
    StateChip,
    accessible_text,
    second_line,
    state_chip,
)
from ui.style.icons import pixmap
from ui.style.theme import Look, blend
from ui.widgets.item_list import ITEM_ROLE, AnyIndex, ItemDelegate, ItemListModel, ItemListView
from ui.widgets.labels import ENTER_KEYS
from ui.widgets.paint import chip_width, draw_chip, draw_frame, draw_line, draw_right_aligned, draw_selection
from ui.widgets.proposal_keys import PROPOSAL_KEYS

MARGIN: Final = 8  # pixels beside the background of an item
INSET: Final = 8  # pixels between the edge of the background and its contents
ICON: Final = 16
SMALL_ICON: Final = 12
ICON_GAP: Final = 8  # pixels between the icon of an item and its text
ROUNDING: Final = 6


def item_key(item: SkillListItem | None) -> str:
    """Return a unique key of an item: the key of a skill, `proposal/` or `group/` followed by an ID, or "" for None."""
    match item:
        case SkillItem():
            return item.row.key
        case ProposalItem():
            return f"proposal/{item.id}"
        case SkillGroupHeading():
            return f"group/{item.key}"
        case _:
            return ""


class SkillListModel(ItemListModel[SkillListItem]):
    """The model of the list. Of the group headings, only the one that can be collapsed is selectable."""

    def key_of(self, item: SkillListItem) -> str:
        return item_key(item)

    def accessible_text(self, item: SkillListItem) -> str:
        return accessible_text(item)

    def tooltip_of(self, item: SkillListItem) -> str:
        return item.row.description if isinstance(item, SkillItem) else ""

    def first_item(self) -> QModelIndex:
        """Return the index of the first item that is not a heading."""
        for position, item in enumerate(self.items):
            if not isinstance(item, SkillGroupHeading):
                return self.index(position)
        return QModelIndex()

    # Overridden Qt methods

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        item, flag = self.item(index), Qt.ItemFlag
        if item is None or (isinstance(item, SkillGroupHeading) and not item.foldable):
            return flag.NoItemFlags
        return flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemNeverHasChildren


class _ItemTexts(NamedTuple):
    """What is painted for a skill or proposal. `icons` are shown after the title; a `quiet` item is dimmed."""

    title: str
    subtitle: str
    chip: StateChip | None
    icons: Sequence[str] = ()
    quiet: bool = False


class SkillDelegate(ItemDelegate):
    """Paints the group headings, and the two lines of each skill or proposal."""

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        fonts = self.look.fonts
        if isinstance(index.data(ITEM_ROLE), SkillGroupHeading):
            return QSize(200, QFontMetrics(fonts.label).height() + 18)
        return QSize(200, QFontMetrics(fonts.strong).height() + QFontMetrics(fonts.second).height() + 15)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        item, rect = index.data(ITEM_ROLE), QRect(option.rect)
        self._draw_background(painter, rect.adjusted(MARGIN, 0, -MARGIN, 0), option, item)
        match item:
            case SkillGroupHeading():
                self._draw_heading(painter, rect, item)
            case ProposalItem():
                self._draw_item(painter, rect, self._proposal_texts(item))
            case SkillItem():
                self._draw_item(painter, rect, _skill_texts(item))
            case _:
                pass

    def _draw_background(
        self, painter: QPainter, rect: QRect, option: QStyleOptionViewItem, item: SkillListItem | None
    ) -> None:
        theme, state, flags = self.look.theme, option.state, QStyle.StateFlag
        is_heading = isinstance(item, SkillGroupHeading)
        if not is_heading and item_key(item) == self.shown_key:
            draw_selection(painter, rect, theme, ROUNDING)
        elif not is_heading and state & flags.State_MouseOver:
            draw_frame(painter, rect, ROUNDING, blend(theme.selection, theme.panel, 0.5), None)
        if self.keyboard_focus and state & flags.State_HasFocus:
            draw_frame(painter, rect, ROUNDING, None, theme.accent)

    def _proposal_texts(self, proposal: ProposalItem) -> _ItemTexts:
        return _ItemTexts(
            title=proposal.target,
            subtitle=" · ".join(part for part in (proposal.action, proposal.source) if part),
            chip=StateChip(self.tr("review"), "learned"),
        )

    def _draw_heading(self, painter: QPainter, rect: QRect, heading: SkillGroupHeading) -> None:
        theme, font = self.look.theme, self.look.fonts.label
        box = rect.adjusted(14, 6, -MARGIN - INSET, 0)
        if heading.foldable:
            size, name = self.look.size(SMALL_ICON), "chevron-down" if heading.is_open else "chevron-right"
            arrow = pixmap(name, theme.third, size, painter.device().devicePixelRatio())
            painter.drawPixmap(QPoint(box.left() - 2, box.center().y() - size // 2 + 1), arrow)
            box.setLeft(box.left() + size + 2)
        if heading.count:
            count_width = draw_right_aligned(painter, box, str(heading.count), font, theme.learned)
            box.setRight(box.right() - count_width - 8)
        draw_line(painter, box, heading.title, font, theme.third)

    def _draw_item(self, painter: QPainter, rect: QRect, texts: _ItemTexts) -> None:
        theme, fonts = self.look.theme, self.look.fonts
        title_height, subtitle_height = QFontMetrics(fonts.strong).height(), QFontMetrics(fonts.second).height()
        top = rect.top() + (rect.height() - title_height - subtitle_height - 1) // 2
        size, ratio = self.look.size(ICON), painter.device().devicePixelRatio()
        icon_left = rect.left() + MARGIN + INSET
        icon = pixmap("wrench", theme.third if texts.quiet else theme.second, size, ratio)
        painter.drawPixmap(QPoint(icon_left, top + (title_height - size) // 2), icon)
        left, right = icon_left + size + ICON_GAP, rect.right() - MARGIN - INSET
        title_rect = QRect(left, top, right - left, title_height)
        title_rect.setRight(self._draw_marks(painter, title_rect, texts) - 1)
        draw_line(painter, title_rect, texts.title, fonts.strong, theme.second if texts.quiet else theme.text)
        subtitle_rect = QRect(left, top + title_height + 1, right - left, subtitle_height)
        draw_line(painter, subtitle_rect, texts.subtitle, fonts.second, theme.third)

    def _draw_marks(self, painter: QPainter, line: QRect, texts: _ItemTexts) -> int:
        """Draw the chip and the icons at the right end of a line; return the x at which the text must end."""
        theme, font = self.look.theme, self.look.fonts.caption
        right = line.left() + line.width()
        if chip := texts.chip:
            width = chip_width(chip.text, font)
            chip_rect = QRect(right - width, line.top(), width, line.height())
            draw_chip(painter, chip_rect, chip.text, font, theme.color(chip.token), theme.strong_line)
            right -= width + 8
        size, ratio = self.look.size(SMALL_ICON), painter.device().devicePixelRatio()
        for icon in texts.icons:
            top = line.top() + (line.height() - size) // 2
            painter.drawPixmap(QPoint(right - size, top), pixmap(icon, theme.second, size, ratio))
            right -= size + 6
        return right


def _skill_texts(item: SkillItem) -> _ItemTexts:
    row = item.row
    icons = []
    if row.pinned:
        icons.append("pin")
    if item.unsaved:
        icons.append("pencil")
    return _ItemTexts(
        title=row.name,
        subtitle=second_line(row),
        chip=state_chip(row),
        icons=icons,
        quiet=row.state != "enabled",
    )


class SkillList(ItemListView):
    """The list. Arrow keys move the current item; Enter or a click opens it."""

    chosen = Signal(str)  # key of the chosen item
    archive_toggled = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        self.rows = SkillListModel()
        super().__init__("skills.list", self.rows, SkillDelegate(look), parent)
        self.setAccessibleName(self.tr("Skills"))
        self.setUniformItemSizes(False)
        self.clicked.connect(self._choose)

    def show_items(self, items: Sequence[SkillListItem]) -> None:
        current_key = item_key(self.rows.item(self.currentIndex()))
        bar = self.verticalScrollBar().value()
        self.rows.show(items)
        index = self.rows.index_of(current_key or self._painter.shown_key)
        if index.isValid():
            self.setCurrentIndex(index)
        self.verticalScrollBar().setValue(bar)

    def mark_open(self, key: str) -> None:
        """Mark the item that is open beside the list, and make it the current one."""
        self._painter.shown_key = key
        index = self.rows.index_of(key)
        if index.isValid():
            self.setCurrentIndex(index)
        self.viewport().update()

    def current(self) -> SkillListItem | None:
        return self.rows.item(self.currentIndex())

    def _shows_proposal(self, item: SkillListItem | None) -> bool:
        return isinstance(item, ProposalItem) and self._painter.shown_key == item_key(item)

    def _choose(self, index: QModelIndex) -> None:
        item = self.rows.item(index)
        if isinstance(item, SkillGroupHeading) and item.key == ARCHIVED:
            self.archive_toggled.emit()
        elif item is not None and not isinstance(item, SkillGroupHeading):
            self.chosen.emit(item_key(item))

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._painter.keyboard_focus = True
        key, item = Qt.Key(event.key()), self.current()
        has_current = self.currentIndex().isValid()
        if key == Qt.Key.Key_Home or (key == Qt.Key.Key_Down and not has_current):
            # Qt would not move, because the first row is a heading, which cannot be selected.
            self.setCurrentIndex(self.rows.first_item())
        elif key in PROPOSAL_KEYS and not event.modifiers() and self._shows_proposal(item):
            event.ignore()  # leaves the shortcut to the page, because Qt would search the list for the letter
            return
        elif key in ENTER_KEYS and has_current:
            self._choose(self.currentIndex())
        else:
            super().keyPressEvent(event)
            return
        event.accept()
