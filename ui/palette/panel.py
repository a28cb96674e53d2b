"""The palette: a search field with a list of matches, shown over the window and operated by keyboard."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QCursor, QFontMetrics, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from ui.palette.ranking import PaletteEntry, PaletteMatch, rank_entries
from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.widgets.labels import ENTER_KEYS, label
from ui.widgets.paint import chip_width, draw_chip, draw_line, draw_selection

WIDTH: Final = 600
TOP: Final = 72
ROWS: Final = 11
ICON: Final = 16
KEEP_RECENT: Final = 8
Index = QModelIndex | QPersistentModelIndex
TOP_INDEX: Final = QModelIndex()
MOVES: Final = frozenset({Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown})


class PaletteModel(QAbstractListModel):
    """The list model of the matching entries, best first."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.found: list[PaletteMatch] = []

    def show_found(self, found: list[PaletteMatch]) -> None:
        self.beginResetModel()
        self.found = found
        self.endResetModel()

    def rowCount(self, parent: Index = TOP_INDEX) -> int:
        return 0 if parent.isValid() else len(self.found)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        usual = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
        return usual | Qt.ItemFlag.ItemIsEnabled if self.found[index.row()].entry.enabled else usual

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        entry = self.found[index.row()].entry
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(part for part in (entry.text, entry.detail, entry.keys) if part)
        return None


class PaletteDelegate(QStyledItemDelegate):
    """Paints an entry: icon, text with the matching characters in bold, detail, and shortcut at the right."""

    def __init__(self, look: Look, model: PaletteModel) -> None:
        super().__init__(model)
        self.look, self._model = look, model

    def height(self) -> int:
        return QFontMetrics(self.look.fonts.text).height() + 14

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(200, self.height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        found, theme = self._model.found[index.row()], self.look.theme
        entry, place = found.entry, option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            draw_selection(painter, place.adjusted(6, 0, -6, 0), theme, 6)
        size = self.look.size(ICON)
        if entry.icon:
            ink = theme.color(entry.token) if entry.enabled else theme.third
            glyph = pixmap(entry.icon, ink, size, painter.device().devicePixelRatio())
            painter.drawPixmap(place.left() + 16, place.center().y() - size // 2, glyph)
        right = place.right() - 14
        if entry.keys:
            right -= self._paint_keys(painter, place, right, entry.keys) + 10
        left = place.left() + 16 + size + 10
        self._paint_words(painter, QRect(left, place.top(), right - left, place.height()), found)

    def _paint_keys(self, painter: QPainter, place: QRect, right: int, keys: str) -> int:
        fonts, theme = self.look.fonts, self.look.theme
        width, height = chip_width(keys, fonts.caption), QFontMetrics(fonts.caption).height() + 4
        chip = QRect(right - width, place.center().y() - height // 2, width, height)
        draw_chip(painter, chip, keys, fonts.caption, theme.second, theme.strong_line)
        return width

    def _paint_words(self, painter: QPainter, place: QRect, found: PaletteMatch) -> None:
        fonts, theme = self.look.fonts, self.look.theme
        ink = theme.text if found.entry.enabled else theme.third
        strong = set(found.positions)
        left = place.left()
        for part, hit in _pieces(found.entry.text, strong):
            room = QRect(left, place.top(), place.right() - left, place.height())
            if room.width() <= 8:
                return
            left += draw_line(painter, room, part, fonts.bold if hit else fonts.text, theme.accent if hit else ink)
        rest = QRect(left + 10, place.top(), place.right() - left - 10, place.height())
        if found.entry.detail and rest.width() > 24:
            draw_line(painter, rest, found.entry.detail, fonts.second, theme.third)


class Palette(QFrame):
    """The palette; `open_with` shows a list of entries, and calls a function with the ID of the chosen entry."""

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._look, self._parent = look, parent
        self._entries: Sequence[PaletteEntry] = ()
        self._recent: Sequence[str] = ()
        self._act: Callable[[str], object] = lambda _: None
        self._before: QWidget | None = None
        self._pointer = QCursor.pos()
        self.setObjectName("palette")
        self.setAccessibleName(self.tr("Commands"))
        self.setProperty("surface", "card")
        self._field = QLineEdit()
        self._field.setObjectName("palette.field")
        self._field.setFont(look.fonts.text)
        self._field.installEventFilter(self)
        self._model = PaletteModel(self)
        self._rows = PaletteDelegate(look, self._model)
        self._list = QListView()
        self._list.setObjectName("palette.list")
        self._list.setModel(self._model)
        self._list.setItemDelegate(self._rows)
        self._list.setUniformItemSizes(True)
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setMouseTracking(True)
        self._none = label(self.tr("No matches. Try a shorter search."), look.fonts.text, "second", name="palette.none")
        self._none.setContentsMargins(16, 8, 16, 8)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        column.addWidget(self._field)
        column.addWidget(self._none)
        column.addWidget(self._list)
        self._field.textChanged.connect(self._sort)
        self._list.clicked.connect(lambda _: self._choose())
        self._list.entered.connect(self._point_at)
        parent.installEventFilter(self)
        self.hide()

    def open_with(
        self, entries: Sequence[PaletteEntry], hint: str, act: Callable[[str], object], recent: Sequence[str] = ()
    ) -> None:
        """Show these entries, or close the palette if it already shows them; `act` is called with the chosen ID."""
        if self.isVisible() and self._field.placeholderText() == hint:
            self.dismiss()
            return
        if not self.isVisible():
            self._before = self.window().focusWidget()
        self._entries, self._recent, self._act = entries, recent, act
        self._field.setPlaceholderText(hint)
        self._field.setAccessibleName(hint)
        self._list.setAccessibleName(hint)
        self._field.clear()
        self._sort()
        self.show()
        self.raise_()
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def dismiss(self) -> None:
        """Hide the palette after restoring the previous focus; otherwise Qt would pass it to a neighboring widget."""
        before, self._before = self._before, None
        if before is not None and before.isVisible():
            before.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self._field.clearFocus()
        self.hide()

    def restyle(self, look: Look) -> None:
        self._look = self._rows.look = look
        self._field.setFont(look.fonts.text)
        self._none.setFont(look.fonts.text)
        self._fit()

    def _point_at(self, index: QModelIndex) -> None:
        """Select the entry under the pointer if the pointer has moved, but not if only the list has changed."""
        if QCursor.pos() != self._pointer:
            self._list.setCurrentIndex(index)

    def _sort(self) -> None:
        self._pointer = QCursor.pos()
        self._model.show_found(rank_entries(self._entries, self._field.text(), self._recent))
        first = next((n for n, found in enumerate(self._model.found) if found.entry.enabled), -1)
        self._list.setCurrentIndex(self._model.index(first))
        self._none.setVisible(not self._model.found)
        self._list.setVisible(bool(self._model.found))
        self._fit()

    def _choose(self) -> None:
        index = self._list.currentIndex()
        if not index.isValid() or not self._model.found[index.row()].entry.enabled:
            return
        name, act = self._model.found[index.row()].entry.id, self._act
        self.dismiss()
        act(name)

    def _fit(self) -> None:
        area = self._parent.rect()
        width = min(self._look.size(WIDTH), area.width() - 32)
        shown = min(max(1, len(self._model.found)), ROWS)
        self._list.setFixedHeight(shown * self._rows.height() + 4)
        height = min(self.sizeHint().height(), area.height() - TOP - 16)
        self.setGeometry((area.width() - width) // 2, min(TOP, area.height() // 8), width, height)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        if watched is self._field and event.type() == QEvent.Type.FocusOut and self.isVisible():
            self._leave_when_elsewhere()
        if watched is self._parent and event.type() == QEvent.Type.Resize and self.isVisible():
            self._fit()
        return False

    def _leave_when_elsewhere(self) -> None:
        focused: QWidget | None = self.window().focusWidget()
        if focused is not None and focused is not self and not self.isAncestorOf(focused):
            self.hide()

    def _key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        elif event.key() in ENTER_KEYS:
            self._choose()
        elif event.key() in MOVES:
            self._move(event.key())
        else:
            return False
        return True

    def _move(self, key: int) -> None:
        """Move the selection, wrapping around and skipping unavailable entries."""
        self._pointer = QCursor.pos()
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -ROWS + 1, Qt.Key.Key_PageDown: ROWS - 1}
        can = [n for n, found in enumerate(self._model.found) if found.entry.enabled]
        if not can:
            return
        now = self._list.currentIndex().row()
        place = can.index(now) if now in can else 0
        step = steps[Qt.Key(key)]
        target = (place + step) % len(can) if abs(step) == 1 else min(max(place + step, 0), len(can) - 1)
        self._list.setCurrentIndex(self._model.index(can[target]))


def _pieces(text: str, strong: set[int]) -> list[tuple[str, bool]]:
    """Split the text into parts, alternately matching and not, as pairs of text and whether it matches."""
    pieces: list[tuple[str, bool]] = []
    for place, letter in enumerate(text):
        hit = place in strong
        if pieces and pieces[-1][1] == hit:
            pieces[-1] = (pieces[-1][0] + letter, hit)
        else:
            pieces.append((letter, hit))
    return pieces


def native_shortcut(keys: str) -> str:
    """Return a shortcut in the notation of the platform."""
    written = QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
    return written.replace("Return", "Enter")  # as the key is labeled
