"""The minimap: the whole session on a time axis, with one lane per kind of step and a frame around the visible rows."""

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractSlider, QSizePolicy, QWidget

from core.domain.clock import SECOND, Clock, now
from core.domain.steps import OPEN_STATUSES
from core.store.row_sampling import RowSample
from core.timeline.time_axis import TimeAxis
from ui.base.step_presentation import kind_style
from ui.style.theme import Look, blend

# The lanes from top to bottom, by the color of a step. Any other color is painted in the last lane.
LANES: Final = {"thinking": 0, "done": 1, "command": 2, "network": 3, "agent": 3, "learned": 4, "failed": 4}
LANE_COUNT: Final = 5
KINDS_WITHOUT_MARK: Final = frozenset({"run", "end", "user", "reply", "rating", "fork", "notice"})
HEIGHT: Final = 55
EDGE: Final = 16
INSET: Final = 8
BAR_HEIGHT: Final = 6
MAX_CACHED: Final = 8
REDRAW_INTERVAL: Final = SECOND  # while a run is in progress
RECENT_MARKS: Final = 40  # marks, from the end, among which a step in progress is searched


class SampleSource(Protocol):
    """The data source of the minimap; implemented by the store's reader."""

    def sample(self, session: str, count: int, limit: int) -> list[RowSample]: ...


class _FramedRows(NamedTuple):
    """The first and the last row on screen."""

    first: int = 0
    last: int = 0


class _PictureKey(NamedTuple):
    """The cache key of a painted map."""

    session: str
    rows: int
    width: int


class _Picture(NamedTuple):
    """A painted map of a session, with the samples of rows it shows and its time axis."""

    marks: list[RowSample]
    axis: TimeAxis
    pixmap: QPixmap


class Minimap(QAbstractSlider):
    """A map of the session.

    `row_requested` carries the row to scroll to after a click, drag or key press. To a screen reader, the map is a
    slider whose value is the first visible row.
    """

    row_requested = Signal(int)

    def __init__(self, look: Look, rows: SampleSource, *, clock: Clock = now, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._rows = rows
        self._clock = clock
        self._session = ""
        self._count = 0
        self._drawn_at = 0
        self._axis = TimeAxis.of((), 0)
        self._marks: list[RowSample] = []
        self._picture = QPixmap()
        self._cache: dict[_PictureKey, _Picture] = {}
        self._framed = _FramedRows()
        self.setObjectName("run.strip")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.valueChanged.connect(self.row_requested)

    def show_rows(self, session: str, count: int, *, in_progress: bool = False) -> None:
        """Show the rows of a session; while a run is in progress, redraw at most once a second."""
        is_recent = self._clock() - self._drawn_at < REDRAW_INTERVAL
        if session == self._session and in_progress and is_recent:
            return
        self._session, self._count = session, count
        self._read(in_progress=in_progress)

    def frame_rows(self, first: int, last: int) -> None:
        """Frame the rows from `first` to `last`, which are on screen."""
        framed = _FramedRows(first, last)
        if framed == self._framed:
            return
        self._framed = framed
        text = self.tr("Minimap: rows {} to {} of {} are visible")
        count = max(self._count, last + 1)
        self.setAccessibleName(text.format(first + 1, last + 1, count))
        with QSignalBlocker(self):  # the rows are there already
            self.setRange(0, count - 1)
            self.setValue(first)
        self.update()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._cache.clear()
        self._picture = QPixmap()
        self.update()

    @property
    def axis(self) -> TimeAxis:
        return self._axis

    def _read(self, *, in_progress: bool = False) -> None:
        """Read the marks of the session, unless a picture of them is cached. A run in progress is always read again."""
        self._drawn_at = self._clock()
        cached = self._cache.get(self._key())
        if cached and not in_progress:
            self._marks = cached.marks
            self._axis = cached.axis
            self._picture = cached.pixmap
            self.update()
            return
        plot_width = max(100, self.width() - 2 * EDGE)
        samples = self._rows.sample(self._session, self._count, plot_width) if self._session else []
        self._marks = [mark for mark in samples if mark.kind not in KINDS_WITHOUT_MARK]
        ended = max((mark.ended_at or mark.started_at for mark in self._marks), default=0)
        recent_marks = self._marks[-RECENT_MARKS:]
        is_open = any(mark.status in {"running", "waiting"} and not mark.ended_at for mark in recent_marks)
        self._axis = TimeAxis.of(self._marks, self._drawn_at if is_open else ended)
        self._picture = QPixmap()
        self.update()

    def _key(self) -> _PictureKey:
        return _PictureKey(self._session, self._count, self.width())

    def _cache_picture(self) -> None:
        """Cache the picture of this session, so that it is shown at once when the user returns."""
        self._cache[self._key()] = _Picture(self._marks, self._axis, self._picture)
        while len(self._cache) > MAX_CACHED:
            del self._cache[next(iter(self._cache))]

    def _paint_picture(self) -> QPixmap:
        theme, ratio = self._look.theme, self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(theme.panel)
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            fills = {token: blend(theme.color(token), theme.panel, 0.9) for token in LANES}
            for mark in self._marks:
                self._paint_mark(painter, mark, fills)
        return picture

    def _paint_mark(self, painter: QPainter, mark: RowSample, fills: Mapping[str, QColor]) -> None:
        """Paint a step in its lane; a step that waits for the user is painted across all lanes.

        `fills` are the colors of the lanes, computed once for all marks.
        """
        theme = self._look.theme
        token = "failed" if mark.status == "failed" else kind_style(mark.kind).token
        ended = mark.ended_at or (self._drawn_at if mark.status in OPEN_STATUSES else mark.started_at)
        x = self._x_of(self._axis.position_of_time(mark.started_at))
        width = max(3.0, self._x_of(self._axis.position_of_time(ended)) - x)
        if token == "waiting":
            painter.setBrush(blend(theme.waiting, theme.panel, 0.16))
            painter.drawRoundedRect(QRectF(x, INSET - 1, width, self.height() - 2 * INSET + 2), 3, 3)
            painter.fillRect(QRectF(x, 2, 2, self.height() - 4), theme.waiting)
            return
        lane_distance = (self.height() - 2 * INSET - BAR_HEIGHT) / (LANE_COUNT - 1)
        top = INSET + LANES.get(token, LANE_COUNT - 1) * lane_distance
        painter.setBrush(fills.get(token) or blend(theme.color(token), theme.panel, 0.9))
        painter.drawRoundedRect(QRectF(x, top, width, BAR_HEIGHT), min(2.5, width / 2), 2.5)

    def _x_of(self, position: float) -> float:
        """Return the x coordinate of a position on the axis, from 0 to 1."""
        return EDGE + (self.width() - 2 * EDGE) * position

    def _request_row_at(self, x: float) -> None:
        plot_width = max(1, self.width() - 2 * EDGE)
        self.row_requested.emit(self._axis.row_at(min(1.0, max(0.0, (x - EDGE) / plot_width))))

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(200, HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._read()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._look.theme
        if self._picture.isNull():
            self._picture = self._paint_picture()
            self._cache_picture()
        with QPainter(self) as painter:
            painter.drawPixmap(0, 0, self._picture)
            painter.fillRect(0, self.height() - 1, self.width(), 1, theme.line)
            if not self._marks:
                return
            left = self._x_of(self._axis.position_of_row(self._framed.first)) - 3
            right = self._x_of(self._axis.position_of_row(self._framed.last + 1)) + 3
            box = QRectF(left + 0.5, 2.5, max(10.0, right - left), self.height() - 6)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            fill = theme.accent
            fill.setAlphaF(0.08 if theme.dark else 0.04)
            painter.setBrush(fill)
            fill.setAlphaF(1.0)
            painter.setPen(QPen(theme.accent, 2 if self.hasFocus() else 1))
            painter.drawRoundedRect(box, 5, 5)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._request_row_at(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._request_row_at(event.position().x())

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        first, last = self._framed
        page = max(1, last - first)
        keys = {
            Qt.Key.Key_Left: first - page // 2,
            Qt.Key.Key_Right: last + page // 2,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: self._count - 1,
        }
        if (row := keys.get(Qt.Key(event.key()))) is not None:
            self.row_requested.emit(min(max(0, row), max(0, self._count - 1)))
        else:
            event.ignore()  # the arrow keys of a slider would scroll row by row
