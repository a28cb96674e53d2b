"""The palette: a search field with a list of matches, shown over the window and operated with the keyboard."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from PySide6.QtCore import QEvent, QModelIndex, QObject, QRect, QSize, Qt
from PySide6.QtGui import QCursor, QFontMetrics, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from ui.palette.ranking import PaletteEntry, PaletteMatch, rank_entries
from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.widgets.announce import announce
from ui.widgets.item_list import ITEM_ROLE, AnyIndex, ItemDelegate, ItemListModel
from ui.widgets.labels import ENTER_KEYS, label
from ui.widgets.paint import chip_width, draw_chip, draw_line, draw_selection
from ui.widgets.text_parts import TextPart

WIDTH: Final = 600
TOP: Final = 72  # pixels between the top of the window and the palette; less in a low window
WINDOW_MARGIN: Final = 16  # pixels between the palette and the edges of the window
ROWS: Final = 11
ROW_PADDING: Final = 14
EDGE: Final = 16
RIGHT_EDGE: Final = 14
ICON: Final = 16
GAP: Final = 10  # pixels between icon, text, detail and shortcut
MIN_TEXT_WIDTH: Final = 8  # pixels; a part of the text for which less is left is not painted
MIN_DETAIL_WIDTH: Final = 24
KEEP_RECENT: Final = 8
MOVES: Final = frozenset({Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown})


class PaletteModel(ItemListModel[PaletteMatch]):
    """The list model of the matching entries, best first."""

    def text_of(self, item: PaletteMatch) -> str:
        return item.entry.text

    def accessible_text(self, item: PaletteMatch) -> str:
        entry = item.entry
        return ", ".join(part for part in (entry.text, entry.detail, entry.keys) if part)

    # Overridden Qt methods

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        match = self.item(index)
        if match is None:
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
        if match.entry.enabled:
            flags |= Qt.ItemFlag.ItemIsEnabled
        return flags


class PaletteDelegate(ItemDelegate):
    """Paints an entry: icon, text with the matching characters in bold, detail, and at the right the shortcut."""

    def height(self) -> int:
        return QFontMetrics(self.look.fonts.text).height() + ROW_PADDING

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(200, self.height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        match, theme = index.data(ITEM_ROLE), self.look.theme
        entry, rect = match.entry, option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            draw_selection(painter, rect.adjusted(6, 0, -6, 0), theme, 6)
        size = self.look.size(ICON)
        if entry.icon:
            color = theme.color(entry.token) if entry.enabled else theme.third
            icon = pixmap(entry.icon, color, size, painter.device().devicePixelRatio())
            painter.drawPixmap(rect.left() + EDGE, rect.center().y() - size // 2, icon)
        right = rect.right() - RIGHT_EDGE
        if entry.keys:
            right -= self._paint_shortcut(painter, rect, right, entry.keys) + GAP
        left = rect.left() + EDGE + size + GAP
        self._paint_text(painter, QRect(left, rect.top(), right - left, rect.height()), match)

    def _paint_shortcut(self, painter: QPainter, rect: QRect, right: int, keys: str) -> int:
        fonts, theme = self.look.fonts, self.look.theme
        width, height = chip_width(keys, fonts.caption), QFontMetrics(fonts.caption).height() + 4
        chip = QRect(right - width, rect.center().y() - height // 2, width, height)
        draw_chip(painter, chip, keys, fonts.caption, theme.second, theme.strong_line)
        return width

    def _paint_text(self, painter: QPainter, rect: QRect, match: PaletteMatch) -> None:
        """Paint the text with the matching characters highlighted, and then the detail if there is enough space."""
        fonts, theme = self.look.fonts, self.look.theme
        text_color = theme.text if match.entry.enabled else theme.third
        left = rect.left()
        for text, is_match in _split_by_match(match.entry.text, set(match.positions)):
            text_rect = QRect(left, rect.top(), rect.right() - left, rect.height())
            if text_rect.width() <= MIN_TEXT_WIDTH:
                return
            font, color = (fonts.bold, theme.accent) if is_match else (fonts.text, text_color)
            left += draw_line(painter, text_rect, text, font, color)
        detail_rect = QRect(left + GAP, rect.top(), rect.right() - left - GAP, rect.height())
        if match.entry.detail and detail_rect.width() > MIN_DETAIL_WIDTH:
            draw_line(painter, detail_rect, match.entry.detail, fonts.second, theme.third)


class Palette(QFrame):
    """The palette. `open_with` shows a list of entries and calls a function with the ID of the chosen one."""

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._parent = parent
        self._entries: Sequence[PaletteEntry] = ()
        self._recent: Sequence[str] = ()
        self._on_chosen: Callable[[str], object] = lambda _: None
        self._previous_focus: QWidget | None = None
        self._pointer = QCursor.pos()
        self.setObjectName("palette")
        self.setAccessibleName(self.tr("Commands"))
        self.setProperty("surface", "card")
        self._field = QLineEdit()
        self._field.setObjectName("palette.field")
        self._field.setFont(look.fonts.text)
        self._field.installEventFilter(self)
        self._model = PaletteModel(self)
        self._delegate = PaletteDelegate(look, self._model)
        self._list = QListView()
        self._list.setObjectName("palette.list")
        self._list.setModel(self._model)
        self._list.setItemDelegate(self._delegate)
        self._list.setUniformItemSizes(True)
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setMouseTracking(True)
        self._announced = ""
        self._no_matches = label("", look.fonts.text, "second", name="palette.none")
        self._no_matches.setContentsMargins(16, 8, 16, 8)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        column.addWidget(self._field)
        column.addWidget(self._no_matches)
        column.addWidget(self._list)
        self._field.textChanged.connect(self._update_matches)
        self._list.clicked.connect(self._choose)
        self._list.entered.connect(self._point_at)
        parent.installEventFilter(self)
        self.hide()

    def open_with(
        self, entries: Sequence[PaletteEntry], hint: str, on_chosen: Callable[[str], object], recent: Sequence[str] = ()
    ) -> None:
        """Show these entries and call `on_chosen` with the ID of the chosen one.

        If the palette already shows the same entries, close it instead.
        """
        if self.isVisible() and self._field.placeholderText() == hint:
            self.dismiss()
            return
        if not self.isVisible():
            self._previous_focus = self.window().focusWidget()
        self._entries = entries
        self._recent = recent
        self._on_chosen = on_chosen
        self._announced = ""
        self._field.setPlaceholderText(hint)
        self._field.setAccessibleName(hint)
        self._list.setAccessibleName(hint)
        self._field.clear()
        self._update_matches()
        self.show()
        self.raise_()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def dismiss(self) -> None:
        """Hide the palette, after restoring the previous focus. Otherwise, Qt would move the focus to a neighbor."""
        previous, self._previous_focus = self._previous_focus, None
        if previous is not None and previous.isVisible():
            previous.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self._field.clearFocus()
        self.hide()

    def restyle(self, look: Look) -> None:
        self._look = self._delegate.look = look
        self._field.setFont(look.fonts.text)
        self._no_matches.setFont(look.fonts.text)
        self._update_geometry()

    def _point_at(self, index: QModelIndex) -> None:
        """Select the entry under the pointer, but only if the pointer has moved, and not just the list below it."""
        if QCursor.pos() != self._pointer:
            self._list.setCurrentIndex(index)

    def _update_matches(self) -> None:
        self._pointer = QCursor.pos()
        self._model.show(rank_entries(self._entries, self._field.text(), self._recent))
        first = next((row for row, match in enumerate(self._model.items) if match.entry.enabled), -1)
        self._list.setCurrentIndex(self._model.index(first))
        empty = self.tr("No matches. Try a shorter search.") if self._entries else self.tr("The list is empty.")
        self._no_matches.setText(empty)
        self._no_matches.setVisible(not self._model.items)
        self._list.setVisible(bool(self._model.items))
        self._update_geometry()
        if self.isVisible():
            if self._model.items:
                self._announce_current()
            else:
                self._announce(self._no_matches.text())

    def _choose(self, index: QModelIndex) -> None:
        if not index.isValid() or not self._model.items[index.row()].entry.enabled:
            return
        entry_id, on_chosen = self._model.items[index.row()].entry.id, self._on_chosen
        self.dismiss()
        on_chosen(entry_id)

    def _update_geometry(self) -> None:
        area = self._parent.rect()
        width = min(self._look.size(WIDTH), area.width() - 2 * WINDOW_MARGIN)
        visible_rows = min(max(1, len(self._model.items)), ROWS)
        self._list.setFixedHeight(visible_rows * self._delegate.height() + 4)  # 4 pixels for the frame of the list
        height = min(self.sizeHint().height(), area.height() - TOP - WINDOW_MARGIN)
        self.setGeometry((area.width() - width) // 2, min(TOP, area.height() // 8), width, height)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._handle_key(event)
        if watched is self._field and event.type() == QEvent.Type.FocusOut and self.isVisible():
            self._hide_if_focus_left()
        if watched is self._parent and event.type() == QEvent.Type.Resize and self.isVisible():
            self._update_geometry()
        return False

    def _hide_if_focus_left(self) -> None:
        focused: QWidget | None = self.window().focusWidget()
        if focused is not None and focused is not self and not self.isAncestorOf(focused):
            self.hide()

    def _handle_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        elif event.key() in ENTER_KEYS:
            self._choose(self._list.currentIndex())
        elif event.key() in MOVES:
            self._move_selection(event.key())
        else:
            return False
        return True

    def _move_selection(self, key: int) -> None:
        """Move the selection, skipping disabled entries. It wraps around only when it is moved by one entry."""
        self._pointer = QCursor.pos()
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -ROWS + 1, Qt.Key.Key_PageDown: ROWS - 1}
        enabled_rows = [row for row, match in enumerate(self._model.items) if match.entry.enabled]
        if not enabled_rows:
            return
        current_row = self._list.currentIndex().row()
        step = steps[Qt.Key(key)]
        unselected = -1 if step > 0 else 0  # from here, Down selects the first entry and Up the last one
        position = enabled_rows.index(current_row) if current_row in enabled_rows else unselected
        target = position + step
        if abs(step) == 1:
            target %= len(enabled_rows)
        else:
            target = min(max(target, 0), len(enabled_rows) - 1)
        self._list.setCurrentIndex(self._model.index(enabled_rows[target]))
        self._announce_current()

    def _announce_current(self) -> None:
        """Announce the selected entry, because a screen reader follows only the focus, which is in the field."""
        if text := self._list.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole):
            self._announce(str(text))

    def _announce(self, text: str) -> None:
        """Announce a text unless it was the last one announced: while typing, the same entry often stays selected."""
        if text != self._announced:
            self._announced = text
            announce(self, text)


def _split_by_match(text: str, positions: set[int]) -> list[TextPart]:
    """Divide a text into the parts whose characters are at these positions and those between them."""
    groups = groupby(enumerate(text), key=lambda item: item[0] in positions)
    return [TextPart("".join(character for _, character in items), is_match) for is_match, items in groups]


def native_shortcut(keys: str) -> str:
    """Return a shortcut in the notation of the operating system."""
    native_text = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
    return native_text.replace("Return", "Enter")  # Enter is how the key is labeled
