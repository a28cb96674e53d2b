"""The panel of the Context tab: how full the context window is, what fills it, and where it was compacted."""

from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QLabel, QScrollArea, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from core.timeline.session_activity import SentRequest, SessionActivity
from ui.style.number_formats import amount, duration
from ui.style.theme import Look, blend
from ui.widgets.button import Button
from ui.widgets.labels import label
from ui.widgets.paint import draw_line, draw_right_aligned
from ui.widgets.themed_widget import ThemedWidget

EDGE: Final = 20
CHART: Final = 200
ROW: Final = 31
COMPACT_AT: Final = 80  # percent of the context window


class ContextCategory(NamedTuple):
    name: str
    label: str
    color: str


CATEGORIES: Final = (
    ContextCategory("tools", "Tools", "command"),
    ContextCategory("system", "System prompt", "stopped"),
    ContextCategory("session", "Folder, AGENTS.md and skill list", "third"),
    ContextCategory("skills", "Skills", "learned"),
    ContextCategory("memory", "Memory", "network"),
    ContextCategory("summary", "Summary of compacted content", "failed"),
    ContextCategory("user", "You", "accent"),
    ContextCategory("harness", "Notes", "third"),
    ContextCategory("replies", "Replies", "thinking"),
    ContextCategory("results:files", "Results: files", "done"),
    ContextCategory("results:commands", "Results: commands", "waiting"),
    ContextCategory("results:others", "Results: other tools", "agent"),
)


def translate(text: str) -> str:
    return QCoreApplication.translate("context", text)


class ContextChart(ThemedWidget):
    """A stacked area chart of tokens by category, one point per model request; `request_hovered` carries its index."""

    request_hovered = Signal(int)

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self._requests: list[SentRequest] = []
        self._past = SessionActivity()
        self._hovered = -1
        self.setObjectName("context.chart")
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_past(self, past: SessionActivity) -> None:
        self._past, self._requests = past, past.requests
        if self._requests:
            text = translate("{} requests; the last one uses {} of {} tokens")
            now = self._requests[-1]
            self.setAccessibleName(text.format(len(self._requests), amount(now.total), amount(now.context_window)))
        self.update()

    def _x(self, place: float) -> float:
        room = self.width() - 2 * EDGE
        return EDGE + room * place / max(1, len(self._requests) - 1)

    # Qt overrides

    def sizeHint(self) -> QSize:
        return QSize(300, self._look.size(CHART))

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._requests:
            return
        theme, font = self._look.theme, self._look.fonts.caption
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            tall = QFontMetrics(font).height()
            top, bottom = tall + 6, self.height() - tall - 8
            limit = self._requests[-1].context_window * COMPACT_AT // 100
            max_tokens = max(max(sent.total for sent in self._requests), 1)
            show_limit = bool(limit) and max_tokens * 4 > limit
            high = max(max_tokens * 1.08, limit if show_limit else 0)
            per_pixel = max(1, len(self._requests) // max(1, self.width()))
            places = sorted({*range(0, len(self._requests), per_pixel), len(self._requests) - 1})
            if len(places) == 1:
                places = [0, 0]
            floor = [0.0] * len(places)
            painter.setPen(Qt.PenStyle.NoPen)
            for category in CATEGORIES:
                roof = [
                    low + self._requests[at].tokens.get(category.name, 0) for low, at in zip(floor, places, strict=True)
                ]
                if roof == floor:
                    continue
                xs = [self._x(at) for at in places]
                xs[-1] = float(self.width() - EDGE)
                points = [QPointF(x, bottom - (bottom - top) * y / high) for x, y in zip(xs, roof, strict=True)]
                points += [
                    QPointF(x, bottom - (bottom - top) * y / high) for x, y in zip(xs[::-1], floor[::-1], strict=True)
                ]
                painter.setBrush(blend(theme.color(category.color), theme.background, 0.78))
                painter.drawPolygon(QPolygonF(points))
                floor = roof
            if show_limit:
                self._paint_limit(painter, limit, top + round((bottom - top) * (1 - limit / high)))
            self._paint_compactions(painter, top, bottom)
            if 0 <= self._hovered < len(self._requests):
                painter.fillRect(QRectF(self._x(self._hovered) - 0.5, top, 1, bottom - top), theme.text)

    def _paint_limit(self, painter: QPainter, limit: int, y: int) -> None:
        theme, font = self._look.theme, self._look.fonts.caption
        painter.setPen(QPen(theme.failed, 1, Qt.PenStyle.DashLine))
        painter.drawLine(EDGE, y, self.width() - EDGE, y)
        text = translate("{}% of {}: compacts here").format(COMPACT_AT, amount(limit * 100 // COMPACT_AT))
        box = QRect(EDGE, y - QFontMetrics(font).height() - 3, self.width() - 2 * EDGE, QFontMetrics(font).height())
        draw_right_aligned(painter, box, text, font, theme.second)

    def _paint_compactions(self, painter: QPainter, top: int, bottom: int) -> None:
        theme, font = self._look.theme, self._look.fonts.caption
        metrics = QFontMetrics(font)
        free = 0
        for cliff in self._past.compactions[-40:]:
            x = round(self._x(max(0.0, cliff.request_index - 0.5)))
            painter.setPen(QPen(theme.third, 1, Qt.PenStyle.DotLine))
            painter.drawLine(x, top, x, bottom)
            text = translate("compacted: {} → {}").format(amount(cliff.before), amount(cliff.after))
            room = metrics.horizontalAdvance(text)
            left = min(x + 4, self.width() - EDGE - room)
            if left >= free:
                draw_line(painter, QRect(left, bottom + 3, room + 2, metrics.height()), text, font, theme.second)
                free = left + room + 12

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        room = max(1, self.width() - 2 * EDGE)
        place = round((event.position().x() - EDGE) / room * max(1, len(self._requests) - 1))
        self._set_hovered(min(max(0, place), len(self._requests) - 1))

    def leaveEvent(self, event: object) -> None:
        self._set_hovered(-1)

    def _set_hovered(self, place: int) -> None:
        if place != self._hovered:
            self._hovered = place
            self.request_hovered.emit(place)
            self.update()


class ContextTable(ThemedWidget):
    """A table with the color, tokens and share of each category."""

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self._lines: list[tuple[ContextCategory, int, float]] = []
        self.setObjectName("context.shares")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_request(self, sent: SentRequest) -> None:
        whole = max(1, sent.total)
        found = ((each, sent.tokens.get(each.name, 0)) for each in CATEGORIES)
        self._lines = [(each, count, 100 * count / whole) for each, count in found if count]
        accessible_parts = [f"{translate(each.label)} {count:,} ({share:.0f}%)" for each, count, share in self._lines]
        self.setAccessibleName(", ".join(accessible_parts))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, self._look.size(ROW) * len(self._lines) + 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, fonts = self._look.theme, self._look.fonts
        with QPainter(self) as painter:
            tall = self._look.size(ROW)
            painter.fillRect(0, 0, self.width(), 1, theme.line)
            right = self.width() - EDGE
            column = self._look.size(72)
            for place, (category, count, share) in enumerate(self._lines):
                box = QRect(0, place * tall, self.width(), tall)
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(blend(theme.color(category.color), theme.background, 0.9))
                painter.drawRoundedRect(QRectF(EDGE, box.y() + (tall - 10) / 2, 10, 10), 3, 3)
                draw_line(painter, box.adjusted(EDGE + 22, 0, 0, 0), translate(category.label), fonts.text, theme.text)
                draw_right_aligned(
                    painter,
                    QRect(0, box.y(), right - column, tall),
                    f"{count:,} {translate('tokens')}",
                    fonts.text,
                    theme.text,
                )
                draw_right_aligned(painter, QRect(0, box.y(), right, tall), f"{share:.0f}%", fonts.text, theme.third)
                painter.fillRect(0, box.bottom(), self.width(), 1, theme.line)


class ContextPanel(QWidget):
    compact_requested = Signal()
    prompt_size_chosen = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._past = SessionActivity()
        self.setObjectName("context")
        self._title = label("", look.fonts.title, name="context.title")
        self._detail = label("", look.fonts.text, "second", name="context.told")
        self._compact = Button(look, self.tr("Compact now"), name="context.compact")
        self._compact.clicked.connect(self.compact_requested)
        self._resize_prompt = Button(look, "", name="context.prompt_size")
        self._resize_prompt.setToolTip(self.tr("Applies to the next run of this session and to new sessions"))
        self._resize_prompt.clicked.connect(self._choose_prompt_size)
        self._chart = ContextChart(look)
        self._chart.request_hovered.connect(self._set_hovered)
        self._shares = ContextTable(look)
        upper = QHBoxLayout()
        upper.setContentsMargins(EDGE, 14, EDGE, 6)
        upper.setSpacing(14)
        upper.addWidget(self._title)
        upper.addWidget(self._detail, 1)
        upper.addWidget(self._resize_prompt)
        upper.addWidget(self._compact)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(upper)
        column.addWidget(self._chart)
        column.addWidget(self._shares)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setAccessibleName(self.tr("Context"))
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(inside)
        inside.setAutoFillBackground(False)
        self._empty = QLabel()
        self._empty.setObjectName("context.empty")
        self._empty.setProperty("tone", "second")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack = QStackedWidget()
        self._stack.addWidget(scroll)
        self._stack.addWidget(self._empty)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self.setFocusProxy(self._compact)

    def show_past(self, past: SessionActivity, *, loading: bool, running: bool) -> None:
        """Show the requests of a session.

        `loading` is true while its events are being read, `running` while a run is active.
        """
        self._past = past
        self._chart.show_past(past)
        nothing = self.tr("No requests sent yet.\nWhat fills the context window appears here.")
        self._empty.setText(self.tr("Reading…") if loading else nothing)
        self._stack.setCurrentIndex(0 if past.requests else 1)
        self._compact.setEnabled(bool(past.requests))
        self._compact.setToolTip(self.tr("Compacts the context before the next request") if running else "")
        self._set_hovered(-1)

    def restyle(self, look: Look) -> None:
        for part in (self._compact, self._resize_prompt, self._chart, self._shares):
            part.restyle(look)
        self._title.setFont(look.fonts.title)
        self._detail.setFont(look.fonts.text)
        self._empty.setFont(look.fonts.text)

    def _set_hovered(self, place: int) -> None:
        """Show the request under the pointer, or the last one."""
        if not self._past.requests:
            return
        sent = self._past.requests[place] if 0 <= place < len(self._past.requests) else self._past.requests[-1]
        of = self.tr(" of {}").format(amount(sent.context_window)) if sent.context_window else ""
        self._title.setText(self.tr("{}{} tokens").format(amount(sent.total), of))
        self._detail.setText(" · ".join(self._details(sent)))
        full, compact = self.tr("Use the full prompt"), self.tr("Use a compact prompt")
        self._resize_prompt.setText(full if sent.compact else compact)
        self._shares.show_request(sent)

    def _details(self, sent: SentRequest) -> list[str]:
        """Return the facts about a request that follow its number of tokens."""
        found = [f"{100 * sent.total / sent.context_window:.0f}%"] if sent.context_window else []
        found.append(self.tr("estimated, turn {}").format(sent.turn))
        if sent.prefix:
            prompt = self.tr("compact prompt {}") if sent.compact else self.tr("prompt and tools {}")
            found.append(prompt.format(amount(sent.prefix)))
        if sent.first_token_s:
            found.append(self.tr("first token after {}").format(duration(round(sent.first_token_s * 1_000_000))))
        return found

    def _choose_prompt_size(self) -> None:
        self.prompt_size_chosen.emit("full" if self._past.requests[-1].compact else "compact")
