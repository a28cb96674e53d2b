"""The panel of the Context tab: how full the context window is, what fills it, and where it was compacted."""

from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from core.domain.notices import instruction_file_text
from core.timeline.session_activity import SentRequest, SessionActivity
from ui.style.number_formats import amount, duration
from ui.style.theme import Look, blend
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.empty_note import empty_note, update_note
from ui.widgets.flow_layout import WrappingRow
from ui.widgets.labels import allow_breaks, label
from ui.widgets.paint import draw_line, draw_right_aligned
from ui.widgets.replaceable_content import show_in_stack
from ui.widgets.themed_widget import ThemedWidget

EDGE: Final = 20
CHART: Final = 200
ROW: Final = 31
COMPACT_AT: Final = 80  # percent of the context window at which the context is compacted
LIMIT_VISIBLE_FROM: Final = 4  # the compaction limit is painted once a request reaches a quarter (1/4) of its value
HEADROOM: Final = 1.08  # height of the chart in relation to the largest request
MAX_COMPACTIONS: Final = 40  # compactions that are marked at most; the newest ones are
LABEL_GAP: Final = 12  # minimum distance in pixels between the labels of two compactions
SWATCH: Final = 10  # pixels; size of the square in the color of a category


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
    """A stacked area chart of tokens by category, with a point for each model request.

    `request_hovered` carries the index of a request.
    """

    accessible_role = QAccessible.Role.Chart
    request_hovered = Signal(int)

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self._requests: list[SentRequest] = []
        self._activity = SessionActivity()
        self._hovered = -1
        self.setObjectName("context.chart")
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_past(self, activity: SessionActivity) -> None:
        self._activity, self._requests = activity, activity.requests
        self._hovered = -1  # so that the panel shows the last request again
        if self._requests:
            text = translate("{} requests; the last one uses {} of {} tokens")
            last = self._requests[-1]
            self.setAccessibleName(text.format(len(self._requests), amount(last.total), amount(last.context_window)))
        self.update()

    def _x(self, request_index: float) -> float:
        width = self.width() - 2 * EDGE
        return EDGE + width * request_index / max(1, len(self._requests) - 1)

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(300, self._look.size(CHART))

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._requests:
            return
        theme, font = self._look.theme, self._look.fonts.caption
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            line_height = QFontMetrics(font).height()
            top, bottom = line_height + 6, self.height() - line_height - 8
            limit = self._requests[-1].context_window * COMPACT_AT // 100
            max_tokens = max(1, *(request.total for request in self._requests))
            show_limit = bool(limit) and max_tokens * LIMIT_VISIBLE_FROM > limit
            scale_tokens = max(max_tokens * HEADROOM, limit if show_limit else 0)
            painter.setPen(Qt.PenStyle.NoPen)
            self._paint_areas(painter, top, bottom, scale_tokens)
            if show_limit:
                self._paint_limit(painter, limit, top + round((bottom - top) * (1 - limit / scale_tokens)))
            self._paint_compactions(painter, top, bottom)
            if 0 <= self._hovered < len(self._requests):
                painter.fillRect(QRectF(self._x(self._hovered) - 0.5, top, 1, bottom - top), theme.text)

    def _paint_areas(self, painter: QPainter, top: int, bottom: int, scale_tokens: float) -> None:
        """Paint the areas of the categories, stacked on each other, with no more points than pixels."""
        theme = self._look.theme
        step = max(1, len(self._requests) // max(1, self.width()))
        indices = sorted({*range(0, len(self._requests), step), len(self._requests) - 1})
        if len(indices) == 1:
            indices = [0, 0]
        xs = [self._x(index) for index in indices]
        xs[-1] = float(self.width() - EDGE)
        tokens_below = [0.0] * len(indices)
        lower_edge = [QPointF(x, bottom) for x in xs]
        for category in CATEGORIES:
            counts = [self._requests[index].tokens.get(category.name, 0) for index in indices]
            if not any(counts):
                continue
            tokens_below = [below + count for below, count in zip(tokens_below, counts, strict=True)]
            ys = [bottom - (bottom - top) * tokens / scale_tokens for tokens in tokens_below]
            upper_edge = [QPointF(x, y) for x, y in zip(xs, ys, strict=True)]
            painter.setBrush(blend(theme.color(category.color), theme.background, 0.78))
            painter.drawPolygon(QPolygonF([*upper_edge, *reversed(lower_edge)]))
            lower_edge = upper_edge

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
        label_from = 0  # the x coordinate from which the next label does not touch the previous one
        for compaction in self._activity.compactions[-MAX_COMPACTIONS:]:
            x = round(self._x(max(0.0, compaction.request_index - 0.5)))
            painter.setPen(QPen(theme.third, 1, Qt.PenStyle.DotLine))
            painter.drawLine(x, top, x, bottom)
            text = translate("compacted: {} → {}").format(amount(compaction.before), amount(compaction.after))
            width = metrics.horizontalAdvance(text)
            left = min(x + 4, self.width() - EDGE - width)
            if left >= label_from:
                draw_line(painter, QRect(left, bottom + 3, width + 2, metrics.height()), text, font, theme.second)
                label_from = left + width + LABEL_GAP

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        width = max(1, self.width() - 2 * EDGE)
        index = round((event.position().x() - EDGE) / width * max(1, len(self._requests) - 1))
        self._set_hovered(min(max(0, index), len(self._requests) - 1))

    def leaveEvent(self, event: object) -> None:
        self._set_hovered(-1)

    def _set_hovered(self, index: int) -> None:
        if index != self._hovered:
            self._hovered = index
            self.request_hovered.emit(index)
            self.update()


class CategoryShare(NamedTuple):
    """The tokens of a category, and their share of the whole request."""

    category: ContextCategory
    tokens: int
    percent: float


class ContextTable(ThemedWidget):
    """A table with the color, the number of tokens and the share of each category."""

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self._rows: list[CategoryShare] = []
        self.setObjectName("context.shares")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_request(self, request: SentRequest) -> None:
        total = max(1, request.total)
        self._rows = []
        for category in CATEGORIES:
            if count := request.tokens.get(category.name, 0):
                self._rows.append(CategoryShare(category, count, percent=100 * count / total))
        texts = [f"{translate(row.category.label)} {row.tokens:,} ({row.percent:.0f}%)" for row in self._rows]
        self.setAccessibleName(", ".join(texts))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, self._look.size(ROW) * len(self._rows) + 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            row_height = self._look.size(ROW)
            painter.fillRect(0, 0, self.width(), 1, self._look.theme.line)
            for number, share in enumerate(self._rows):
                self._draw_row(painter, QRect(0, number * row_height, self.width(), row_height), share)

    def _draw_row(self, painter: QPainter, rect: QRect, share: CategoryShare) -> None:
        theme, font = self._look.theme, self._look.fonts.text
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(blend(theme.color(share.category.color), theme.background, 0.9))
        painter.drawRoundedRect(QRectF(EDGE, rect.y() + (rect.height() - SWATCH) / 2, SWATCH, SWATCH), 3, 3)
        right = self.width() - EDGE
        label_rect = rect.adjusted(EDGE + SWATCH + 12, 0, 0, 0)
        count_rect = QRect(0, rect.y(), right - self._look.size(72), rect.height())
        percent_rect = QRect(0, rect.y(), right, rect.height())
        draw_line(painter, label_rect, translate(share.category.label), font, theme.text)
        draw_right_aligned(painter, count_rect, f"{share.tokens:,} {translate('tokens')}", font, theme.text)
        draw_right_aligned(painter, percent_rect, f"{share.percent:.0f}%", font, theme.third)
        painter.fillRect(0, rect.bottom(), self.width(), 1, theme.line)


class ContextPanel(QWidget):
    compact_requested = Signal()
    prompt_size_chosen = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._activity = SessionActivity()
        self.setObjectName("context")
        self._title = label("", look.fonts.title, name="context.title")
        self._detail = label("", look.fonts.text, "second", name="context.told", wrap=True)
        self._compact = Button(look, self.tr("Compact now"), name="context.compact")
        self._compact.clicked.connect(self.compact_requested)
        self._resize_prompt = Button(look, "", name="context.prompt_size")
        self._resize_prompt.setToolTip(self.tr("Applies to the next run of this session and to new sessions"))
        self._resize_prompt.clicked.connect(self._choose_prompt_size)
        self._chart = ContextChart(look)
        self._chart.request_hovered.connect(self._set_hovered)
        self._shares = ContextTable(look)
        self._instructions_title = label(self.tr("Instructions of the latest run"), look.fonts.strong)
        self._instructions = label("", look.fonts.text, "second", name="context.instructions", wrap=True)
        self._instructions.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        header = QVBoxLayout()
        header.setContentsMargins(EDGE, 14, EDGE, 6)
        header.setSpacing(6)
        header.addWidget(WrappingRow(self._title, self._resize_prompt, self._compact))
        header.addWidget(self._detail)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(header)
        column.addWidget(self._chart)
        column.addWidget(self._shares)
        instructions = QVBoxLayout()
        instructions.setContentsMargins(EDGE, 14, EDGE, 14)
        instructions.setSpacing(6)
        instructions.addWidget(self._instructions_title)
        instructions.addWidget(self._instructions)
        column.addLayout(instructions)
        column.addStretch(1)
        scroll = self._scroll = QScrollArea()
        scroll.setAccessibleName(self.tr("Context"))
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(content)
        content.setAutoFillBackground(False)
        self._empty = empty_note(look, "", name="context.empty")
        self._stack = QStackedWidget()
        self._stack.addWidget(scroll)
        self._stack.addWidget(self._empty)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self._show_content(shows_requests=False)

    def _show_content(self, *, shows_requests: bool) -> None:
        if shows_requests:
            # The focus is not on a button, so that Enter does not compact the context by accident.
            show_in_stack(self, self._stack, self._scroll)
        else:
            show_in_stack(self, self._stack, self._empty)

    def show_past(self, activity: SessionActivity, *, loading: bool, running: bool) -> None:
        """Show the model requests of a session.

        `loading` is true while events of the session are being read, `running` while a run is active.
        """
        self._activity = activity
        self._chart.show_past(activity)
        empty_text = self.tr("No requests sent yet.\nWhat fills the context window appears here.")
        if not activity.requests:  # otherwise, the note would be announced although it does not apply
            update_note(self._empty, self.tr("Reading…") if loading else empty_text)
        self._compact.setEnabled(bool(activity.requests))
        self._show_content(shows_requests=bool(activity.requests))
        lines = [visible(instruction_file_text(file)) for file in activity.instructions]
        instructions = "\n".join(lines) or self.tr("None: no AGENTS.md or CLAUDE.md applies here.")
        self._instructions.setText(allow_breaks(instructions))
        self._compact.setToolTip(self.tr("Compacts the context before the next request") if running else "")
        self._set_hovered(-1)

    def restyle(self, look: Look) -> None:
        for part in (self._compact, self._resize_prompt, self._chart, self._shares):
            part.restyle(look)
        self._title.setFont(look.fonts.title)
        self._detail.setFont(look.fonts.text)
        self._instructions_title.setFont(look.fonts.strong)
        self._instructions.setFont(look.fonts.text)
        self._empty.setFont(look.fonts.text)

    def _set_hovered(self, index: int) -> None:
        """Show the request under the pointer; for -1, the last request."""
        requests = self._activity.requests
        if not requests:
            return
        request = requests[index] if 0 <= index < len(requests) else requests[-1]
        window = self.tr(" of {}").format(amount(request.context_window)) if request.context_window else ""
        self._title.setText(self.tr("{}{} tokens").format(amount(request.total), window))
        self._detail.setText(" · ".join(self._details(request)))
        full, compact = self.tr("Use the full prompt"), self.tr("Use a compact prompt")
        self._resize_prompt.setText(full if request.compact else compact)
        self._shares.show_request(request)

    def _details(self, request: SentRequest) -> list[str]:
        """Return the facts about a request that are listed after its number of tokens."""
        details = [f"{100 * request.total / request.context_window:.0f}%"] if request.context_window else []
        details.append(self.tr("estimated, turn {}").format(request.turn))
        if request.prefix:
            prompt = self.tr("compact prompt {}") if request.compact else self.tr("prompt and tools {}")
            details.append(prompt.format(amount(request.prefix)))
        if request.first_token_s:
            details.append(self.tr("first token after {}").format(duration(round(request.first_token_s * 1_000_000))))
        return details

    def _choose_prompt_size(self) -> None:
        self.prompt_size_chosen.emit("full" if self._activity.requests[-1].compact else "compact")
