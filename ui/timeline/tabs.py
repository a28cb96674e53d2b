"""The line of tabs over a run's views, with small figures beside their names."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QTabBar, QVBoxLayout, QWidget

from ui.theme import Look
from ui.widgets.paint import draw_frame
from ui.widgets.words import hairline

Figure = tuple[str, str]  # what it says, and the token of its colour


class Figures(QWidget):
    """`+84 −3` in one thin frame."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._figures: list[Figure] = []
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def show_figures(self, figures: list[Figure]) -> bool:
        """True where it takes another width now."""
        before = self.sizeHint()
        self._figures = figures
        self.setAccessibleName(" ".join(text for text, _ in figures))
        self.resize(self.sizeHint())
        self.update()
        return before != self.sizeHint()

    def restyle(self, look: Look) -> None:
        self._look = look
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._look.fonts.caption)
        width = sum(metrics.horizontalAdvance(text) + 4 for text, _ in self._figures)
        return QSize(width + 8 if self._figures else 0, metrics.height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._figures:
            return
        theme, font, painter = self._look.theme, self._look.fonts.caption, QPainter(self)
        draw_frame(painter, self.rect(), 4, theme.raised, theme.strong_line)
        painter.setFont(font)
        metrics, x = QFontMetrics(font), 6
        base = (self.height() + metrics.ascent() - metrics.descent()) // 2
        for text, token in self._figures:
            painter.setPen(theme.colour(token))
            painter.drawText(x, base, text)
            x += metrics.horizontalAdvance(text) + 4


class TabLine(QWidget):
    """`chosen` names the tab; at the right stands what finds things."""

    chosen = Signal(str)

    def __init__(self, look: Look, right: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._names: list[str] = []
        self._figures: dict[str, Figures] = {}
        self._bar = QTabBar()
        self._bar.setObjectName("run.tabs")
        self._bar.setAccessibleName(self.tr("Views of the run"))
        self._bar.setDrawBase(False)
        self._bar.setExpanding(False)
        self._bar.setUsesScrollButtons(False)
        self._bar.setElideMode(Qt.TextElideMode.ElideNone)
        self._bar.setFont(look.fonts.strong)
        self._bar.currentChanged.connect(lambda place: self.chosen.emit(self._names[place]))
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
        figures = self._figures[name] = Figures(self._look)
        self._bar.setTabButton(place, QTabBar.ButtonPosition.RightSide, figures)

    def show_figures(self, name: str, figures: list[Figure]) -> None:
        """The small figures beside a tab's name."""
        shown = self._figures[name]
        if shown.show_figures(figures):
            place = self._names.index(name)
            # Qt lays a tab out again only when its button changes.
            self._bar.setTabButton(place, QTabBar.ButtonPosition.RightSide, None)
            self._bar.setTabButton(place, QTabBar.ButtonPosition.RightSide, shown)
            shown.setVisible(bool(figures))

    def choose(self, name: str) -> None:
        self._bar.setCurrentIndex(self._names.index(name))

    def choose_at(self, place: int) -> None:
        if place < len(self._names):
            self._bar.setCurrentIndex(place)

    def current(self) -> str:
        return self._names[self._bar.currentIndex()] if self._names else ""

    def restyle(self, look: Look) -> None:
        self._look = look
        self._bar.setFont(look.fonts.strong)
        for figures in self._figures.values():
            figures.restyle(look)
