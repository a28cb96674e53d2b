"""The dialog that replays a session: its recorded rows, marked if already replayed, and buttons to continue."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QDialog, QHBoxLayout, QStyleOptionViewItem, QVBoxLayout, QWidget

from core.domain.steps import Step, verb
from ui.base.step_presentation import translate
from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import resize_in_screen
from ui.widgets.item_list import ITEM_ROLE, ItemDelegate, ItemListModel, ItemListView
from ui.widgets.labels import allow_breaks, label
from ui.widgets.paint import chip_width, draw_chip, draw_line, draw_row_state

if TYPE_CHECKING:
    from core.engine.history.stepped_replay import ReplayedRow, ReplayProgress

SEVERAL: Final = 10
TO_THE_END: Final = -1
ROW: Final = 29
EDGE: Final = 12
ICON: Final = 16
NUMBER: Final = 34
ORIGINS: Final = {  # icon, color and text by the origin of a replayed row
    "played": ("circle-check", "done", "Played"),
    "supplied": ("circle-dot", "second", "From the recording"),
    "different": ("circle-alert", "failed", "Different"),
}
AnyIndex = QModelIndex | QPersistentModelIndex


class ReplayRow:
    """A recorded row. `replayed` says how it was replayed; None if the replay has not reached it yet."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.replayed: ReplayedRow | None = None

    @property
    def text(self) -> str:
        return " ".join(filter(None, (translate(verb(self.step.kind, self.step.status)), self.step.object)))


class ReplayModel(ItemListModel[ReplayRow]):
    def key_of(self, item: ReplayRow) -> str:
        return str(item.step.row)

    def accessible_text(self, item: ReplayRow) -> str:
        state = translate(ORIGINS[item.replayed.origin][2]) if item.replayed else translate("Not reached")
        return visible(f"{item.text}, {state}")

    def tooltip_of(self, item: ReplayRow) -> str:
        return item.text

    def show_replayed(self, rows: "dict[int, ReplayedRow]") -> None:
        for place, item in enumerate(self.items):
            if item.step.row in rows:
                item.replayed = rows[item.step.row]
                self.dataChanged.emit(self.index(place), self.index(place))

    def forget_replayed(self) -> None:
        for item in self.items:
            item.replayed = None
        if self.items:
            self.dataChanged.emit(self.index(0), self.index(len(self.items) - 1))


class ReplayDelegate(ItemDelegate):
    """Paints a row: an icon for how it was replayed, its number and its text. Rows not yet reached are dim."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        item = index.data(ITEM_ROLE)
        if not isinstance(item, ReplayRow):
            return
        look, theme, box = self.look, self.look.theme, QRect(option.rect)
        draw_row_state(painter, option, theme)
        left, right, color = box.x() + EDGE, box.right() - EDGE, theme.third
        if item.replayed:
            glyph, token, text = ORIGINS[item.replayed.origin]
            size, color = look.size(ICON), theme.text
            mark = pixmap(glyph, theme.color(token), size, painter.device().devicePixelRatio())
            painter.drawPixmap(left, box.y() + (box.height() - size) // 2, mark)
            if item.replayed.origin != "played":
                text, height = translate(text), QFontMetrics(look.fonts.caption).height() + 4
                width = chip_width(text, look.fonts.caption)
                chip = QRect(right - width, box.y() + (box.height() - height) // 2, width, height)
                draw_chip(painter, chip, text, look.fonts.caption, theme.color(token), theme.strong_line)
                right -= width + EDGE
        left += look.size(ICON) + EDGE
        number = str(item.step.number) if item.step.number else ""
        draw_line(
            painter, QRect(left, box.y(), look.size(NUMBER), box.height()), number, look.fonts.second, theme.third
        )
        left += look.size(NUMBER)
        draw_line(painter, QRect(left, box.y(), right - left, box.height()), item.text, look.fonts.text, color)

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(0, self.look.size(ROW))


class ReplayDialog(QDialog):
    """Shows a replay.

    `step_requested` carries a number of steps to replay, `row_requested` the row up to which to replay.
    """

    step_requested = Signal(int)
    row_requested = Signal(int)
    restart_requested = Signal()

    def __init__(self, look: Look, title: str, steps: Sequence[Step], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._ended = False
        self.setObjectName("replay")
        self.setWindowTitle(self.tr("Replay"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.rows = ReplayModel()
        self.rows.show([ReplayRow(step) for step in steps if step.status != "moved"])
        self._list = ItemListView("replay.rows", self.rows, ReplayDelegate(look), self)
        self._list.setAccessibleName(self.tr("Recorded steps"))
        self._list.selectionModel().currentChanged.connect(self._show_row)
        self._details = label("", look.fonts.second, "second", name="replay.details", wrap=True)
        self._state = label("", look.fonts.text, name="replay.state", wrap=True)
        self._next = Button(look, self.tr("Next step"), name="replay.next", tone="primary")
        self._next.setDefault(True)
        self._several = Button(look, self.tr("Next {}").format(SEVERAL), name="replay.several")
        self._selected = Button(look, self.tr("To the selected row"), name="replay.selected")
        self._end = Button(look, self.tr("To the end"), name="replay.end")
        self._restart = Button(look, self.tr("Start over"), name="replay.restart", tone="quiet")
        close = Button(look, self.tr("Close"), name="replay.close", tone="quiet")
        self._next.clicked.connect(lambda: self._go_on(1))
        self._several.clicked.connect(lambda: self._go_on(SEVERAL))
        self._end.clicked.connect(lambda: self._go_on(TO_THE_END))
        self._selected.clicked.connect(self._go_to_selected)
        self._restart.clicked.connect(self._start_over)
        close.clicked.connect(self.reject)
        self._lay_out(title, close)
        self.set_busy(True)

    def show_progress(self, progress: "ReplayProgress") -> None:
        """Show how far the replay has come; it is now waiting, or has ended."""
        self._ended = progress.ended
        self.rows.show_replayed(dict(progress.rows))
        if progress.rows and (index := self.rows.index_of(str(max(progress.rows)))).isValid():
            self._list.scrollTo(index, ItemListView.ScrollHint.PositionAtCenter)
        counts = self.tr("{played} events played, {supplied} from the recording, {different} different").format(
            played=progress.played, supplied=progress.supplied, different=progress.different
        )
        ends = self.tr("The end. This version of Journeyman does the same as the recording.")
        if progress.different:
            ends = self.tr("The end. This version of Journeyman would do something else at the rows that are marked.")
        self._state.setText(allow_breaks(f"{ends} {counts}." if progress.ended else f"{counts}."))
        self._show_row()
        self.set_busy(False)

    def set_busy(self, busy: bool) -> None:
        """Disable the buttons that continue the replay, because it is running. At its end, they stay disabled."""
        for button in (self._next, self._several, self._end):
            button.setEnabled(not (busy or self._ended))
        self._restart.setEnabled(not busy)
        self._selected.setEnabled(not (busy or self._ended) and self._is_selected_ahead())

    def show_error(self, text: str) -> None:
        self._ended = True
        self._state.setText(allow_breaks(visible(text)))
        self.set_busy(False)

    def _go_on(self, steps: int) -> None:
        self.set_busy(True)
        self.step_requested.emit(steps)

    def _go_to_selected(self) -> None:
        if item := self.rows.item(self._list.currentIndex()):
            self.set_busy(True)
            self.row_requested.emit(item.step.row)

    def _start_over(self) -> None:
        self._ended = False
        self.rows.forget_replayed()
        self.set_busy(True)
        self.restart_requested.emit()

    def _is_selected_ahead(self) -> bool:
        item = self.rows.item(self._list.currentIndex())
        return item is not None and item.replayed is None

    def _show_row(self) -> None:
        """Show what was recorded and what was replayed for the selected row."""
        item = self.rows.item(self._list.currentIndex())
        text = ""
        if item:
            text = self.tr("Recorded: {}").format(visible(item.text))
            if item.replayed and item.replayed.origin == "different":
                text += "\n" + self.tr("Played: {}").format(visible(item.replayed.played) or self.tr("nothing"))
            elif item.replayed:
                text += "\n" + translate(ORIGINS[item.replayed.origin][2])
        self._details.setText(allow_breaks(text))
        if self._next.isEnabled():
            self._selected.setEnabled(self._is_selected_ahead())

    def _lay_out(self, title: str, close: Button) -> None:
        fonts = self._look.fonts
        about = self.tr(
            "The engine plays the session again in a temporary folder, with the recorded replies, results and answers. "
            "No model is asked and no tool runs. A row that it plays differently comes from a change of Journeyman."
        )
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self._restart, close):
            buttons.addWidget(button)
        buttons.addStretch(1)
        for button in (self._end, self._selected, self._several, self._next):
            buttons.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.tr("Replay of {}").format(visible(title)), fonts.title, wrap=True))
        column.addWidget(label(about, fonts.second, "second", wrap=True))
        column.addWidget(self._list, 1)
        column.addWidget(self._details)
        column.addWidget(self._state)
        column.addLayout(buttons)
        resize_in_screen(self, self._look.size(720), self._look.size(560))
