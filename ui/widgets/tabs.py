"""A line of tabs over the views of one thing, with small figures beside their names."""

from typing import Final

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QTabBar, QVBoxLayout, QWidget

from ui.theme import Look
from ui.widgets.paint import draw_frame, draw_line
from ui.widgets.words import hairline

PAD: Final = 10
GAP: Final = 6

Figure = tuple[str, str]  # what it says, and the token of its colour


class Tabs(QTabBar):
    """Painted as a whole: Qt would set figures far apart from the name they belong to."""

    def __init__(self, look: Look, name: str, said: str) -> None:
        super().__init__()
        self.look = look
        self._figures: dict[int, list[Figure]] = {}
        self.setObjectName(name)
        self.setAccessibleName(said)
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(False)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.setMouseTracking(True)
        self.setFont(look.fonts.strong)

    def show_figures(self, place: int, figures: list[Figure]) -> None:
        if self._figures.get(place, []) != figures:
            self._figures[place] = figures
            said = " ".join(text for text, _ in figures)
            self.setAccessibleTabName(place, f"{self.tabText(place)} {said}".strip())
            self.setTabText(place, self.tabText(place))  # lays the tabs out anew

    def _figures_width(self, place: int) -> int:
        metrics = QFontMetrics(self.look.fonts.caption)
        widths = [metrics.horizontalAdvance(text) for text, _ in self._figures.get(place, [])]
        return sum(widths) + 4 * (len(widths) - 1) + 12 if widths else 0

    # Qt

    def tabSizeHint(self, index: int) -> QSize:
        metrics, figures = QFontMetrics(self.look.fonts.strong), self._figures_width(index)
        width = metrics.horizontalAdvance(self.tabText(index)) + 2 * PAD + (figures + GAP if figures else 0)
        return QSize(width, metrics.height() + 20)

    def minimumTabSizeHint(self, index: int) -> QSize:
        return self.tabSizeHint(index)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, fonts = self.look.theme, self.look.fonts
        with QPainter(self) as painter:
            under = self.mapFromGlobal(self.cursor().pos())
            for place in range(self.count()):
                box = self.tabRect(place)
                chosen = place == self.currentIndex()
                ink = theme.text if chosen or (self.underMouse() and box.contains(under)) else theme.second
                took = draw_line(painter, box.adjusted(PAD, 0, 0, -2), self.tabText(place), fonts.strong, ink)
                if chosen:
                    painter.fillRect(box.x(), box.bottom() - 1, box.width(), 2, theme.accent)
                if chosen and self.hasFocus():
                    draw_frame(painter, box.adjusted(2, 4, -2, -5), 4, None, theme.accent)
                if figures := self._figures.get(place):
                    self._paint_figures(painter, box, box.x() + PAD + took + GAP, figures, self._figures_width(place))

    def _paint_figures(self, painter: QPainter, box: QRect, x: int, figures: list[Figure], width: int) -> None:
        theme, font = self.look.theme, self.look.fonts.caption
        metrics = QFontMetrics(font)
        tall = metrics.height() + 4
        frame = QRect(x, box.y() + (box.height() - 2 - tall) // 2, width, tall)
        draw_frame(painter, frame, 4, theme.raised, theme.strong_line)
        x += 6
        for text, token in figures:
            x += draw_line(painter, QRect(x, frame.y(), width, tall), text, font, theme.colour(token)) + 4


class TabLine(QWidget):
    """`chosen` names the tab; at the right stands what finds things."""

    chosen = Signal(str)
    clicked = Signal()
    """A tab was pointed at: its keys are wanted, not those of what had the keyboard before."""

    def __init__(self, look: Look, right: QWidget, *, name: str, said: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._names: list[str] = []
        self._bar = Tabs(look, name, said)
        self._bar.currentChanged.connect(lambda place: self.chosen.emit(self._names[place]))
        self._bar.tabBarClicked.connect(lambda _: self.clicked.emit(), Qt.ConnectionType.QueuedConnection)
        row = QHBoxLayout()
        row.setContentsMargins(18, 0, 16, 0)
        row.addWidget(self._bar, 1)
        row.addWidget(right)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(hairline())
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def add(self, name: str, text: str) -> None:
        self._names.append(name)
        place = self._bar.addTab(text)
        self._bar.setTabToolTip(place, self.tr("{} (Alt+{})").format(text, place + 1))

    def show_figures(self, name: str, figures: list[Figure]) -> None:
        """The small figures beside a tab's name."""
        self._bar.show_figures(self._names.index(name), figures)

    def choose(self, name: str) -> None:
        self._bar.setCurrentIndex(self._names.index(name))

    def choose_at(self, place: int) -> None:
        if place < len(self._names):
            self._bar.setCurrentIndex(place)

    def current(self) -> str:
        return self._names[self._bar.currentIndex()] if self._names else ""

    def restyle(self, look: Look) -> None:
        self._bar.look = look
        self._bar.setFont(look.fonts.strong)
        self._bar.update()
