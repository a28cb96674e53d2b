"""The Context tab of the step pane: what the model request that led to the step contained."""

from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

from PySide6.QtCore import QModelIndex, QRect, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyleOptionViewItem, QVBoxLayout, QWidget

from core.domain.steps import Step
from core.timeline.context_item import RESULTS_PREFIX, ContextItem
from ui.base.step_presentation import translate
from ui.style.number_formats import amount
from ui.style.theme import Look
from ui.text.visible import visible
from ui.timeline.step_pages import StepSource
from ui.widgets.current_row import keep_current_row
from ui.widgets.item_list import ITEM_ROLE, AnyIndex, ItemDelegate, ItemListModel
from ui.widgets.labels import label
from ui.widgets.paint import draw_frame, draw_line, draw_right_aligned, draw_selection

SEARCHED_ROWS: Final = 60  # rows before a step in which the request that led to it is searched
DOT: Final = 8
EDGE: Final = 16


class ItemStyle(NamedTuple):
    """The label of a category of items, and the name of its color in the theme."""

    label: str
    token: str


ITEM_STYLES: Final = {
    "system": ItemStyle("System", "stopped"),
    "tools": ItemStyle("Tools", "command"),
    "session": ItemStyle("Session", "stopped"),
    "skills": ItemStyle("Skills", "learned"),
    "memory": ItemStyle("Memory", "learned"),
    "summary": ItemStyle("Summary", "failed"),
    "user": ItemStyle("You", "accent"),
    "harness": ItemStyle("Note", "third"),
    "replies": ItemStyle("Reply", "thinking"),
}
RESULT_STYLE: Final = ItemStyle("Result", "done")


def find_request(rows: StepSource, session: str, step: Step) -> int:
    """Return the sequence number of the model request that led to a step; 0 if there is none."""
    if step.kind == "thinking":
        return step.first_seq
    first = max(0, step.row - SEARCHED_ROWS)
    for earlier in reversed(rows.steps(session, first, step.row - first)):
        if earlier.run != step.run:
            break
        if earlier.kind == "thinking":
            return earlier.first_seq
    return 0


class ContextItemModel(ItemListModel[ContextItem]):
    def accessible_text(self, item: ContextItem) -> str:
        tokens = f"{amount(item.tokens)} {translate('tok')}"
        return f"{translate(style_of(item).label)}: {visible(item.description)}, {tokens}"

    def tooltip_of(self, item: ContextItem) -> str:
        return item.description


def style_of(item: ContextItem) -> ItemStyle:
    if item.category.startswith(RESULTS_PREFIX):
        return RESULT_STYLE
    return ITEM_STYLES.get(item.category, ITEM_STYLES["harness"])


class ContextItemDelegate(ItemDelegate):
    ROW_HEIGHT: ClassVar = 26

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        item, box = index.data(ITEM_ROLE), QRect(option.rect)
        theme, fonts, style = self.look.theme, self.look.fonts, style_of(item)
        if QStyle.StateFlag.State_Selected in option.state:
            draw_selection(painter, box, theme)
        dot_size = self.look.size(DOT)
        dot = QRect(box.x() + EDGE, box.y() + (box.height() - dot_size) // 2, dot_size, dot_size)
        draw_frame(painter, dot, 2, theme.color(style.token), None)
        text_rect = box.adjusted(EDGE + dot_size + 8, 0, -EDGE, 0)
        tokens_width = draw_right_aligned(painter, text_rect, amount(item.tokens), fonts.second, theme.third)
        text_rect.setWidth(text_rect.width() - tokens_width - 10)
        name = translate(style.label)
        if item.truncated:
            name += f", {translate('truncated')}"
        name_width = draw_line(painter, text_rect, name, fonts.second, theme.text) + 8
        draw_line(painter, text_rect.adjusted(name_width, 0, 0, 0), item.description, fonts.second, theme.second)


class _RequestKey(NamedTuple):
    """A model request. Its `seq` is 0 if no request is shown."""

    session: str = ""
    seq: int = 0


class ContextTab(QWidget):
    """Shows the items of a model request.

    It asks for them with `items_requested`. When the user clicks an item, `item_chosen` carries the event it came from.
    """

    items_requested = Signal(str, int)
    item_chosen = Signal(int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = _RequestKey()
        self.setObjectName("step.context")
        self._head = label("", look.fonts.second, "second", name="step.context.head", wrap=True)
        self._model = ContextItemModel(self)
        self._list = QListView()
        self._list.setObjectName("step.context.items")
        self._list.setAccessibleName(self.tr("Context sent to the model"))
        self._list.setUniformItemSizes(True)
        self._list.setMouseTracking(True)
        self._painter = ContextItemDelegate(look, self._list)
        self._list.setItemDelegate(self._painter)
        self._list.setModel(self._model)
        keep_current_row(self._list)
        self._list.activated.connect(self._choose)
        self._list.clicked.connect(self._choose)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 12, 0, 8)
        layout.setSpacing(8)
        self._head.setContentsMargins(EDGE, 0, EDGE, 0)
        layout.addWidget(self._head)
        layout.addWidget(self._list, 1)

    def load(self, session: str, seq: int) -> None:
        """Show the items of the request with this sequence number. They are requested unless they are shown already."""
        request = _RequestKey(session, seq)
        if self._shown == request:
            return
        self._shown = request
        self._model.show(())
        self._head.setText(self.tr("Loading…"))
        self.items_requested.emit(session, seq)

    def show_items(self, session: str, seq: int, items: Sequence[ContextItem]) -> None:
        """Show the items of a request. Ignored if the user has selected another request since they were requested."""
        if self._shown != _RequestKey(session, seq):
            return
        self._model.show(items)
        total_tokens = amount(sum(item.tokens for item in items))
        text = self.tr("1 item before this step, about {1} tokens, without system prompt and tools.")
        if len(items) != 1:
            text = self.tr("{0} items before this step, about {1} tokens, without system prompt and tools.")
        self._head.setText(text.format(len(items), total_tokens))
        self._list.scrollToBottom()

    def clear(self) -> None:
        self._shown = _RequestKey()
        self._model.show(())

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self._head.setFont(look.fonts.second)
        self._list.doItemsLayout()

    def _choose(self, index: QModelIndex) -> None:
        self.item_chosen.emit(self._model.items[index.row()].seq)
