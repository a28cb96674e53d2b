"""What the model was sent before a step, item by item: the Context part of the step's pane."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from core.domain.steps import Step
from core.timeline.ledger import RESULTS, Item
from ui.figures import amount
from ui.looks import words
from ui.theme import Look
from ui.timeline.pages import Rows
from ui.visible import visible
from ui.widgets.paint import draw_chosen, draw_frame, draw_line, draw_right
from ui.widgets.tip import tip
from ui.widgets.words import label

LOOK_BACK: Final = 60
ROW: Final = 26
DOT: Final = 8
EDGE: Final = 16

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()


class Sort(NamedTuple):
    said: str
    token: str


SORTS: Final = {
    "system": Sort("System", "stopped"),
    "tools": Sort("Tools", "command"),
    "skills": Sort("Skills", "learned"),
    "memory": Sort("Memory", "learned"),
    "summary": Sort("Summary", "failed"),
    "person": Sort("You", "accent"),
    "notes": Sort("Note", "third"),
    "replies": Sort("Reply", "thinking"),
}
RESULT: Final = Sort("Result", "done")


def request_of(rows: Rows, session: str, step: Step) -> int:
    """The entry with which the model was asked what led to this step; 0 for none."""
    if step.kind == "thinking":
        return step.first
    first = max(0, step.row - LOOK_BACK)
    for earlier in reversed(rows.steps(session, first, step.row - first)):
        if earlier.run != step.run:
            break
        if earlier.kind == "thinking":
            return earlier.first
    return 0


class Items(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.items: tuple[Item, ...] = ()

    def show(self, items: Sequence[Item]) -> None:
        self.beginResetModel()
        self.items = tuple(items)
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.items)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        item = self.items[index.row()]
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return f"{words(sort_of(item).said)}: {visible(item.words)}, {amount(item.tokens)} {words('tok')}"
        return tip(item.words) if role == Qt.ItemDataRole.ToolTipRole else None


def sort_of(item: Item) -> Sort:
    return RESULT if item.category.startswith(RESULTS) else SORTS.get(item.category, SORTS["notes"])


class ItemPainter(QStyledItemDelegate):
    def __init__(self, model: Items, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._model, self.look = model, look

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        item, box = self._model.items[index.row()], QRect(option.rect)
        theme, fonts, sort = self.look.theme, self.look.fonts, sort_of(item)
        if QStyle.StateFlag.State_Selected in option.state:
            draw_chosen(painter, box, theme)
        side = self.look.size(DOT)
        dot = QRect(box.x() + EDGE, box.y() + (box.height() - side) // 2, side, side)
        draw_frame(painter, dot, 2, theme.colour(sort.token), None)
        inner = box.adjusted(EDGE + side + 8, 0, -EDGE, 0)
        inner.setWidth(inner.width() - draw_right(painter, inner, amount(item.tokens), fonts.second, theme.third) - 10)
        named = words(sort.said)
        if item.folded:
            named += f", {words('its head')}"
        used = draw_line(painter, inner, named, fonts.second, theme.text) + 8
        draw_line(painter, inner.adjusted(used, 0, 0, 0), item.words, fonts.second, theme.second)

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(0, self.look.size(ROW))


class SentTab(QWidget):
    """`wanted` asks for the items of a request; a click on one leads to its row."""

    wanted = Signal(str, int)
    item_chosen = Signal(int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._of: tuple[str, int] = ("", 0)
        self.setObjectName("step.context")
        self._head = label("", look.fonts.second, "second", name="step.context.head", wrap=True)
        self._model = Items(self)
        self._list = QListView()
        self._list.setObjectName("step.context.items")
        self._list.setAccessibleName(self.tr("What the model was sent"))
        self._list.setUniformItemSizes(True)
        self._list.setMouseTracking(True)
        self._painter = ItemPainter(self._model, look, self._list)
        self._list.setItemDelegate(self._painter)
        self._list.setModel(self._model)
        self._list.activated.connect(self._choose)
        self._list.clicked.connect(self._choose)
        around = QVBoxLayout(self)
        around.setContentsMargins(0, 12, 0, 8)
        around.setSpacing(8)
        self._head.setContentsMargins(EDGE, 0, EDGE, 0)
        around.addWidget(self._head)
        around.addWidget(self._list, 1)

    def ask(self, session: str, seq: int) -> None:
        """The items of this request; asked for once."""
        if self._of == (session, seq):
            return
        self._of = (session, seq)
        self._model.show(())
        self._head.setText(self.tr("Reading…"))
        self.wanted.emit(session, seq)

    def show_items(self, session: str, seq: int, items: Sequence[Item]) -> None:
        """What was asked for, unless something else is by now."""
        if self._of != (session, seq):
            return
        self._model.show(items)
        whole = amount(sum(item.tokens for item in items))
        said = self.tr("1 item before this step, about {1} tokens; system and tools aside.")
        if len(items) != 1:
            said = self.tr("{0} items before this step, about {1} tokens; system and tools aside.")
        self._head.setText(said.format(len(items), whole))
        self._list.scrollToBottom()

    def forget(self) -> None:
        self._of = ("", 0)
        self._model.show(())

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self._head.setFont(look.fonts.second)
        self._list.doItemsLayout()

    def _choose(self, index: QModelIndex) -> None:
        self.item_chosen.emit(self._model.items[index.row()].seq)
