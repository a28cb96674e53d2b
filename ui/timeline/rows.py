"""Paint the rows of a run: quiet work, headers, what the person said, the end."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from core.domain.steps import Step, verb
from ui.figures import duration
from ui.icons import pixmap
from ui.looks import (
    Badge,
    badges,
    compaction_line,
    interrupted_line,
    kind_look,
    run_figures,
    status_look,
    words,
)
from ui.theme import Look, blend
from ui.timeline.layout import BUBBLE_WIDTH, EDGE, Columns, Heights
from ui.timeline.model import TimelineModel
from ui.timeline.pictures import Pictures
from ui.timeline.wrapped import WrappedTexts
from ui.visible import visible
from ui.widgets.paint import draw_chosen, draw_frame

ICON = 16
BADGE_PADDING = 6
DEPTH_INDENT = 20
TENTH = 100_000
SCREENS = 4  # of pictures that are kept
# Plain numbers: Qt's flags are combined anew for each word of each row otherwise, and it shows in a profile.
ONE_LINE = Qt.TextFlag.TextSingleLine.value | Qt.AlignmentFlag.AlignVCenter.value
LEFT = ONE_LINE | Qt.AlignmentFlag.AlignLeft.value
RIGHT = ONE_LINE | Qt.AlignmentFlag.AlignRight.value
CENTRE = ONE_LINE | Qt.AlignmentFlag.AlignHCenter.value


class RowPainter(QStyledItemDelegate):
    """Paints each shape of row, and knows how tall it is."""

    def __init__(self, model: TimelineModel, look: Look, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._shapes: dict[str, Callable[[QPainter, QRect, Step], None]] = {
            "work": self._work,
            "header": self._header,
            "bubble": self._bubble,
            "card": self._reply,
            "interrupted": self._interrupted,
            "compaction": self._compaction,
            "reply": self._reply,
        }
        self.restyle(look)

    def restyle(self, look: Look) -> None:
        """Paint in another look from now on."""
        self._look = look
        self._heights = Heights.of(look.fonts)
        self._columns = Columns.of(0, look.fonts)
        self._strong = QFontMetrics(look.fonts.strong)
        self._mono = QFontMetrics(look.fonts.mono)
        self._caption = QFontMetrics(look.fonts.caption)
        self._plain = QFontMetrics(look.fonts.text)
        self._pictures = Pictures()
        self._bubbles = WrappedTexts(look.fonts.text)

    @property
    def heights(self) -> Heights:
        return self._heights

    def columns(self, width: int) -> Columns:
        if self._columns.width != width:
            self._columns = Columns.of(width, self._look.fonts)
        return self._columns

    def height(self, step: Step, width: int) -> int:
        """How tall a painted row is; replies and ends are measured by their widgets."""
        match kind_look(step.kind).shape:
            case "header":
                return self._heights.header
            case "interrupted":
                return self._heights.interrupted
            case "bubble":
                wrapped = self._bubbles.wrap(self._said(step), self._bubble_width(width))
                return round(wrapped.height) + self._heights.bubble_around
            case _:
                return self._heights.work

    # shapes

    def _work(self, painter: QPainter, box: QRect, step: Step) -> None:
        columns, theme, fonts = self.columns(box.width()), self._look.theme, self._look.fonts
        look, status = kind_look(step.kind), status_look(step.status)
        shift = step.depth * DEPTH_INDENT
        if step.number:
            self._text(painter, QRect(0, box.y(), columns.number_right + shift, box.height()), str(step.number),
                       theme.third, fonts.second, RIGHT)  # fmt: skip
        for depth in range(step.depth):  # a line leads down from the step that gave the work
            x = columns.number_right + depth * DEPTH_INDENT - 2
            painter.fillRect(x, box.y(), 1, box.height(), theme.line)
        self._icon(painter, look.icon, theme.colour(look.token), columns.icon + shift, box)
        right = columns.badge_right
        if (unfolded := self._model.unfolded(step.row)) is not None:
            right -= self._look.size(ICON)
            self._icon(painter, "chevron-down" if unfolded else "chevron-right", theme.second, right, box)
            right -= 6
        right = self._badges(painter, right, box, badges(step))
        x = columns.verb + shift
        word = words(verb(step.kind, step.status))
        self._text(painter, QRect(x, box.y(), max(0, right - x), box.height()), word, theme.text, fonts.strong)
        x += self._strong.horizontalAdvance(word) + 8
        if right - x > 12:
            said = self._mono.elidedText(visible(step.object), Qt.TextElideMode.ElideRight, right - x - 8)
            self._text(painter, QRect(x, box.y(), right - x, box.height()), said, theme.second, fonts.mono)
        if columns.bar_width:
            self._bar(painter, columns, box, step, theme.colour(look.token))
        lasted = duration(self._model.lasted(step))
        self._text(painter, QRect(columns.bar, box.y(), columns.lasted_right - columns.bar, box.height()), lasted,
                   theme.third, fonts.second, RIGHT)  # fmt: skip
        if arrow := self._arrow(step):
            self._icon(painter, arrow, theme.third, columns.glyph, box)
        else:
            self._icon(painter, status.icon, theme.colour(status.token), columns.glyph, box)

    def _arrow(self, step: Step) -> str:
        """At the first of several like reads, where a header has its own; all of them went well."""
        quiet = step.kind == "read" and not self._model.is_nested(step.row)
        place = self._model.place(step.row) if quiet else None
        group = self._model.group(place) if place is not None else None
        return ("chevron-down" if group[1] else "chevron-right") if group else ""

    def _header(self, painter: QPainter, box: QRect, step: Step) -> None:
        columns, theme, fonts = self.columns(box.width()), self._look.theme, self._look.fonts
        line = box.adjusted(0, box.height() - self._heights.work - 2, 0, -2)
        name = f"{words('Run')} {step.run}"
        self._text(painter, line.adjusted(columns.text, 0, 0, 0), name, theme.text, fonts.strong)
        x = columns.text + self._strong.horizontalAdvance(name) + 8
        said = " · ".join(run_figures(step, self._model.lasted(step)))
        self._text(painter, QRect(x, line.y(), columns.glyph - x, line.height()), said, theme.second, fonts.second)
        folded = self._model.is_folded(step.run)
        self._icon(painter, "chevron-right" if folded else "chevron-down", theme.third, columns.glyph, line)

    def _bubble(self, painter: QPainter, box: QRect, step: Step) -> None:
        theme = self._look.theme
        wrapped = self._bubbles.wrap(self._said(step), self._bubble_width(box.width()))
        width, height = wrapped.width + 24, wrapped.height + 16
        frame = QRectF(box.right() - EDGE - width + 1, box.y() + 8, width, height)
        said = step.status == "done"
        painter.setPen(Qt.PenStyle.NoPen if said else QPen(theme.strong_line, 1, Qt.PenStyle.DashLine))
        painter.setBrush(theme.bubble if said else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(frame, 10, 10)
        painter.setPen(theme.text if said else theme.second)
        wrapped.layout.draw(painter, QPointF(frame.x() + 12, frame.y() + 8))
        if not said:  # it waits, or was taken back: the model was not told it
            beside = QRect(box.x(), box.y(), round(frame.x()) - box.x() - 10, box.height())
            word = words(verb(step.kind, step.status))
            self._text(painter, beside, word, theme.third, self._look.fonts.second, RIGHT)

    def _interrupted(self, painter: QPainter, box: QRect, step: Step) -> None:
        columns, theme = self.columns(box.width()), self._look.theme
        painter.fillRect(QRect(columns.text, box.y() + 6, 3, box.height() - 12), theme.waiting)
        line = box.adjusted(columns.text + 14, 0, -EDGE, 0)
        said = self._plain.elidedText(interrupted_line(step), Qt.TextElideMode.ElideRight, line.width())
        self._text(painter, line, said, theme.text, self._look.fonts.text)

    def _compaction(self, painter: QPainter, box: QRect, step: Step) -> None:
        """A dashed line across, with what it came to in its middle."""
        columns, theme, fonts = self.columns(box.width()), self._look.theme, self._look.fonts
        metrics = QFontMetrics(fonts.second)
        said = compaction_line(step)
        shows = f" · {words('show what was dropped')}" if step.marks.get("before") else ""
        left, right = columns.text, box.width() - EDGE
        wide = metrics.horizontalAdvance(said + shows)
        x = max(left, left + (right - left - wide) // 2)
        middle = box.y() + box.height() // 2
        painter.setPen(QPen(theme.strong_line, 1, Qt.PenStyle.DashLine))
        if x - 14 > left:
            painter.drawLine(left, middle, x - 14, middle)
            painter.drawLine(x + wide + 14, middle, right, middle)
        self._text(painter, QRect(x, box.y(), wide + 2, box.height()), said, theme.second, fonts.second)
        x += metrics.horizontalAdvance(said)
        self._text(painter, QRect(x, box.y(), wide + 2, box.height()), shows, theme.accent, fonts.second)

    def _reply(self, painter: QPainter, box: QRect, step: Step) -> None:
        """A widget stands here and paints itself."""

    def _paint_picture(self, painter: QPainter, box: QRect, step: Step, chosen: bool) -> None:
        """A row of work looks the same until it, its time or something around it changes."""
        screen, theme = painter.device(), self._look.theme
        ratio = screen.devicePixelRatio()
        tenths = 0 if step.ended else self._model.lasted(step) // TENTH
        key = (
            step.row,
            box.width(),
            box.height(),
            chosen,
            ratio,
            tenths,
            self._model.axis(step.run),
            self._arrow(step),
            self._model.unfolded(step.row),
        )
        inside = QRect(0, 0, box.width(), box.height())
        ground = theme.selection if chosen else theme.background
        picture = self._pictures.picture(
            key, step, box.size(), ratio, ground, lambda onto: self._work(onto, inside, step),
            room=round(SCREENS * screen.width() * screen.height() * ratio * ratio),
        )  # fmt: skip
        painter.drawPixmap(box.topLeft(), picture)
        if chosen:
            draw_frame(painter, box, 0, None, theme.chosen)

    # parts

    def _badges(self, painter: QPainter, right: int, box: QRect, shown: list[Badge]) -> int:
        """Draw them from the right; return where they begin."""
        theme, height = self._look.theme, self._caption.height() + 5
        for badge in reversed(shown):
            width = self._caption.horizontalAdvance(badge.text) + 2 * BADGE_PADDING
            frame = QRectF(right - width + 0.5, box.y() + (box.height() - height) // 2 + 0.5, width - 1, height - 1)
            painter.setPen(QPen(theme.strong_line, 1))
            painter.setBrush(theme.raised)
            painter.drawRoundedRect(frame, 4, 4)
            self._text(painter, frame.toRect(), badge.text, theme.colour(badge.token), self._look.fonts.caption, CENTRE)
            right -= width + 6
        return right

    def _bar(self, painter: QPainter, columns: Columns, box: QRect, step: Step, colour: QColor) -> None:
        """The step's part of its run's time."""
        began, ended = self._model.axis(step.run)
        whole = max(1, ended - began)
        width = max(4.0, columns.bar_width * min(1.0, self._model.lasted(step) / whole))
        x = columns.bar + columns.bar_width * min(1.0, max(0.0, (step.began - began) / whole))
        x = min(x, columns.bar + columns.bar_width - width)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(blend(colour, self._look.theme.background, 0.9))
        painter.drawRoundedRect(QRectF(x, box.y() + box.height() / 2 - 3, width, 6), min(3.0, width / 2), 3)

    def _icon(self, painter: QPainter, name: str, colour: QColor, x: int, box: QRect) -> None:
        ratio, size = painter.device().devicePixelRatio(), self._look.size(ICON)
        painter.drawPixmap(x, box.y() + (box.height() - size) // 2, pixmap(name, colour, size, ratio))

    @staticmethod
    def _text(painter: QPainter, box: QRect, text: str, colour: QColor, font: QFont, flags: int = LEFT) -> None:
        if text:
            painter.setFont(font)
            painter.setPen(colour)
            painter.drawText(box, flags, text)

    def _said(self, step: Step) -> str:
        place = self._model.place(step.row)
        return step.object if place is None else self._model.words(place) or step.object

    @staticmethod
    def _bubble_width(width: int) -> int:
        return max(80, min(BUBBLE_WIDTH, width - 160))

    # Qt

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        step, box = self._model.shown(index.row()), QRect(option.rect)
        if step is None or box.height() <= 0:
            return
        chosen = QStyle.StateFlag.State_Selected in option.state
        shape = "work" if self._model.is_nested(step.row) else kind_look(step.kind).shape
        if shape == "work":
            self._paint_picture(painter, box, step, chosen)
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen and shape in {"work", "interrupted", "compaction"}:
            draw_chosen(painter, box, self._look.theme)
        elif chosen:
            painter.fillRect(box, self._look.theme.background)  # over the fill that Qt gives a chosen row
            painter.fillRect(QRect(0, box.y() + 4, 3, box.height() - 8), self._look.theme.accent)
        self._shapes[shape](painter, box, step)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self._heights.work)
