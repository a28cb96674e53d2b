"""The list of bars: names at the left, time to the right, one line a step."""

from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QWheelEvent
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from core.domain.steps import Step, verb
from ui.figures import amount, duration
from ui.icons import pixmap
from ui.looks import kind_look, words
from ui.theme import Look, blend
from ui.timeline.bare_table import BareTable
from ui.timeline.waterfall.rows import YOURS, RunBars
from ui.timeline.waterfall.scale import Scale
from ui.widgets.paint import draw_chosen, draw_line

ROW: Final = 26
EDGE: Final = 20
INDENT: Final = 18
ICON: Final = 16
BAR: Final = 14
LEAST: Final = 2.0
ZOOM: Final = 0.7
MOVE: Final = 0.2


class BarPainter(QStyledItemDelegate):
    """Paints one line: an icon, what was done, its bar, and how long it took."""

    def __init__(self, rows: RunBars, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self.scale = Scale(0, 1)
        self.names = 0
        self.look = look

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        step = self._rows.step(index.row())
        if step is None:
            return
        box, theme = QRect(option.rect), self.look.theme
        chosen = QStyle.StateFlag.State_Selected in option.state
        if chosen:
            draw_chosen(painter, box, theme)
        else:
            painter.fillRect(box, theme.background)
        painter.fillRect(box.x(), box.bottom(), box.width(), 1, theme.line)
        self._name(painter, box, step)
        painter.save()
        painter.setClipRect(QRect(self.names, box.y(), box.width() - self.names, box.height()))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._bar(painter, box, step, theme.selection if chosen else theme.background)
        painter.restore()

    def _name(self, painter: QPainter, box: QRect, step: Step) -> None:
        look, theme = kind_look(step.kind), self.look.theme
        level = 0 if step.kind == "run" or step.kind in YOURS else 1 + step.depth
        x = EDGE + INDENT * level
        size = self.look.size(ICON)
        name = look.icon if step.kind != "run" else "user"
        picture = pixmap(name, theme.colour(look.token if step.kind != "run" else "accent"), size,
                         painter.device().devicePixelRatio())  # fmt: skip
        painter.drawPixmap(x, box.y() + (box.height() - size) // 2, picture)
        place = QRect(x + size + 7, box.y(), max(0, self.names - x - size - 15), box.height() - 1)
        if step.kind == "run":
            draw_line(painter, place, f"{words('Run')} {step.run}", self.look.fonts.text, theme.text)
            return
        said, fonts = words(verb(step.kind, step.status)), self.look.fonts
        took = draw_line(painter, place, said, fonts.text, theme.text)
        draw_line(painter, place.adjusted(took + 6, 0, 0, 0), step.object, fonts.text, theme.second)

    def _bar(self, painter: QPainter, box: QRect, step: Step, ground: QColor) -> None:
        theme, fonts = self.look.theme, self.look.fonts
        token = "accent" if step.kind == "run" else kind_look(step.kind).token
        colour = theme.failed if step.status == "failed" else theme.colour(token)
        left, right = self.scale.x(step.began), self.scale.x(self._rows.ends(step))
        width = max(LEAST, right - left)
        seen_left, seen_right = max(left, self.names - 4.0), min(left + width, box.right() + 4.0)
        if seen_right > seen_left:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(blend(colour, ground, 0.88))
            bar = QRectF(seen_left, box.y() + (box.height() - BAR) / 2, seen_right - seen_left, BAR)
            painter.drawRoundedRect(bar, min(3.0, width / 2), 3)
        label = self._label(step)
        metrics = QFontMetrics(fonts.caption)
        room = metrics.horizontalAdvance(label)
        line = QRect(0, box.y(), room + 2, box.height() - 1)
        painter.setFont(fonts.caption)
        if seen_right + room + 12 < box.right():
            line.moveLeft(round(max(seen_right, self.names)) + 6)
            painter.setPen(theme.third)
        elif seen_right - seen_left > room + 16:
            line.moveLeft(round(min(seen_right, box.right() - 6.0)) - room - 8)
            painter.setPen(theme.on_accent)
        else:
            line.moveLeft(round(min(seen_left, box.right())) - room - 6)
            painter.setPen(theme.third)
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, label)

    def _label(self, step: Step) -> str:
        took = duration(self._rows.ends(step) - step.began)
        parts = [took]
        if step.marks.get("tokens"):
            parts.append(f"{amount(step.marks['tokens'])} {words('tok')}")
        if step.marks.get("exit"):
            parts.append(f"{words('exit')} {step.marks['exit']}")
        if step.status == "waiting":
            parts.append(words("waiting"))
        if step.status == "failed" and "exit" not in step.marks:
            parts.append(words("failed"))
        return " · ".join(part for part in parts if part)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self.look.size(ROW))


class Bars(BareTable):
    """W and S zoom, A and D move, F fits the chosen step, comma and full stop go to its neighbours."""

    chosen = Signal(object)
    scale_changed = Signal()

    def __init__(self, rows: RunBars, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self._painter = BarPainter(rows, look, self)
        self._whole = True
        self.setObjectName("waterfall.bars")
        self.setAccessibleName(self.tr("Steps on a line of time"))
        self.setItemDelegate(self._painter)
        self.setModel(rows)
        self.restyle(look)
        self.selectionModel().selectionChanged.connect(lambda chosen, _: self._choose())

    @property
    def scale(self) -> Scale:
        return self._painter.scale

    @property
    def limits(self) -> tuple[int, int]:
        return self._rows.began, max(self._rows.began + 1, self._rows.until())

    @property
    def names(self) -> int:
        return self._painter.names

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self.set_row_height(look.size(ROW))
        self.refit()

    def refit(self) -> None:
        """Another width, another run, or later than before: the whole run where the whole was seen."""
        width = self.viewport().width()
        self._painter.names = min(self._painter.look.size(300), max(140, width * 37 // 100))
        left = self._painter.names + 10
        low, high = self.limits
        shown = self._painter.scale
        start, end = (low, high) if self._whole else (shown.start, shown.end)
        self._set(Scale(start, end, left, max(1, width - left - EDGE)))

    def fit_all(self) -> None:
        self._whole = True
        self.refit()

    def zoom(self, factor: float, around: int | None = None) -> None:
        shown = self.scale
        if around is None:
            step = self._chosen_step()
            middle = (shown.start + shown.end) // 2
            around = min(max(shown.start, step.began), shown.end) if step else middle
        self._take(shown.zoomed(factor, around, self.limits))

    def move(self, share: float) -> None:  # type: ignore[override]  # time moves here, not the widget
        self._take(self.scale.moved(share, self.limits))

    def fit_step(self) -> None:
        """The chosen step fills the ruler; once more, or with none, the whole run does."""
        step = self._chosen_step()
        fitted = step and self.scale.fitted(step.began, self._rows.ends(step), self.limits)
        if fitted and fitted != self.scale:
            self._take(fitted)
        else:
            self.fit_all()

    def select_row(self, row: int) -> None:
        """Look at a row of the session, without telling anybody."""
        place = self._rows.place(row)
        blocked = self.selectionModel().blockSignals(True)
        if place is None:
            self.clearSelection()
        else:
            self.setCurrentIndex(self._rows.index(place, 0))
            self.scrollTo(self._rows.index(place, 0))
        self.selectionModel().blockSignals(blocked)
        self._bring_in()
        self.viewport().update()

    def go_by(self, by: int) -> None:
        """The step before or after."""
        chosen = self.selectionModel().selectedRows()
        place = chosen[0].row() + by if chosen else 0
        if 0 <= place < self._rows.rowCount():
            self.setCurrentIndex(self._rows.index(place, 0))
            self._bring_in()

    def _chosen_step(self) -> Step | None:
        chosen = self.selectionModel().selectedRows()
        return self._rows.step(chosen[0].row()) if chosen else None

    def _bring_in(self) -> None:
        """Move time until the chosen step's bar is seen."""
        step, shown = self._chosen_step(), self.scale
        if step and not self._whole and (self._rows.ends(step) < shown.start or step.began > shown.end):
            share = (step.began - shown.start) / max(1, shown.end - shown.start) - 0.1
            self._take(shown.moved(share, self.limits))

    def _take(self, scale: Scale) -> None:
        self._whole = (scale.start, scale.end) == self.limits
        self._set(scale)

    def _set(self, scale: Scale) -> None:
        self._painter.scale = scale
        self.viewport().update()
        self.scale_changed.emit()

    def _choose(self) -> None:
        chosen = self.selectionModel().selectedRows()
        if chosen and (step := self._rows.step(chosen[0].row())):
            self.chosen.emit(step)

    # Qt

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = Qt.Key
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            event.ignore()
            return
        match event.key():
            case keys.Key_W:
                self.zoom(ZOOM)
            case keys.Key_S:
                self.zoom(1 / ZOOM)
            case keys.Key_A | keys.Key_Left:
                self.move(-MOVE)
            case keys.Key_D | keys.Key_Right:
                self.move(MOVE)
            case keys.Key_F:
                self.fit_step()
            case keys.Key_Comma | keys.Key_K:
                self.go_by(-1)
            case keys.Key_Period | keys.Key_J:
                self.go_by(1)
            case keys.Key_Up | keys.Key_Down | keys.Key_PageUp | keys.Key_PageDown | keys.Key_Home | keys.Key_End:
                super().keyPressEvent(event)
            case _:
                event.ignore()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Ctrl zooms where the pointer is, Shift or a sideways wheel moves time, else the list scrolls."""
        turned, sideways = event.angleDelta().y(), event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and turned:
            self.zoom(ZOOM if turned > 0 else 1 / ZOOM, self.scale.at(event.position().x()))
        elif sideways or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.move(-MOVE * (sideways or turned) / 240)
        else:
            super().wheelEvent(event)
