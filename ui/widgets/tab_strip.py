"""A tab bar whose tabs can show small numbers, such as a count, next to their titles."""

from typing import Final, NamedTuple

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QTabBar, QToolButton, QVBoxLayout, QWidget

from ui.style.icons import icon
from ui.style.theme import Look
from ui.widgets.labels import hairline
from ui.widgets.paint import draw_frame, draw_line

PADDING: Final = 10
ARROW: Final = 14
GAP: Final = 6
FIGURE_GAP: Final = 4
FIGURE_PADDING: Final = 6


class TabFigure(NamedTuple):
    """A small number beside the title of a tab; `token` names its color in the theme."""

    text: str
    token: str = "second"


class FigureTabBar(QTabBar):
    """A tab bar that paints the numbers (figures) itself, because Qt's tab buttons would be too far from the title.

    If the tabs fit only without them, the numbers are left out.
    """

    def __init__(self, look: Look, name: str, accessible_name: str, padding: int) -> None:
        super().__init__()
        self.look = look
        self._padding = padding
        self._figures: dict[int, list[TabFigure]] = {}
        self._hides_figures = False
        self.setObjectName(name)
        self.setAccessibleName(accessible_name)
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.setMouseTracking(True)
        self.restyle(look)

    def show_figures(self, index: int, figures: list[TabFigure]) -> None:
        if self._figures.get(index, []) != figures:
            self._figures[index] = figures
            figures_text = " ".join(figure.text for figure in figures)
            self.setAccessibleTabName(index, f"{self.tabText(index)} {figures_text}".strip())
            self._fit_figures()
            self._lay_out_again()

    def _lay_out_again(self) -> None:
        """Make Qt compute the tab sizes again, which it does when the text of a tab is set."""
        if self.count():
            self.setTabText(0, self.tabText(0))

    def _fit_figures(self) -> None:
        """Hide the numbers if all tabs fit without them, but not with them."""
        were_hidden = self._hides_figures
        self._hides_figures = False
        full_width = self._tabs_width()
        self._hides_figures = True
        self._hides_figures = self._tabs_width() <= self.width() < full_width
        if self._hides_figures != were_hidden:
            self._lay_out_again()

    def _tabs_width(self) -> int:
        return sum(self.tabSizeHint(index).width() for index in range(self.count()))

    def _figures_width(self, index: int) -> int:
        metrics = QFontMetrics(self.look.fonts.caption)
        figures = [] if self._hides_figures else self._figures.get(index, [])
        widths = [metrics.horizontalAdvance(figure.text) for figure in figures]
        return sum(widths) + FIGURE_GAP * (len(widths) - 1) + 2 * FIGURE_PADDING if widths else 0

    def restyle(self, look: Look) -> None:
        self.look = look
        self.setFont(look.fonts.strong)
        self._show_arrows()
        self.update()

    def _uncovered_right(self) -> int:
        """Return the right edge of what the buttons that scroll the tabs do not cover."""
        buttons = [button.x() for button in self.findChildren(QToolButton) if button.isVisible()]
        return min(buttons, default=self.width()) - 1

    def _show_arrows(self) -> None:
        """Set the icons of the buttons that scroll the tabs. Qt's own arrows do not scale with the text."""
        size, look = self.look.size(ARROW), self.look
        for button in self.findChildren(QToolButton):
            button.setArrowType(Qt.ArrowType.NoArrow)
            left = button.objectName() == "ScrollLeftButton"
            button.setIcon(icon("chevron-left" if left else "chevron-right", look.theme.text, size))
            button.setIconSize(QSize(size, size))

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_figures()

    def tabLayoutChange(self) -> None:
        """Set the icons again, because Qt has just set its own arrows."""
        self._show_arrows()

    def tabSizeHint(self, index: int) -> QSize:
        metrics, figures = QFontMetrics(self.look.fonts.strong), self._figures_width(index)
        width = metrics.horizontalAdvance(self.tabText(index)) + 2 * self._padding + (figures + GAP if figures else 0)
        return QSize(width, metrics.height() + 20)

    def minimumTabSizeHint(self, index: int) -> QSize:
        return self.tabSizeHint(index)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            for index in range(self.count()):
                self._paint_tab(painter, index)

    def _paint_tab(self, painter: QPainter, index: int) -> None:
        theme, box = self.look.theme, self.tabRect(index)
        is_current = index == self.currentIndex()
        is_hovered = self.underMouse() and box.contains(self.mapFromGlobal(self.cursor().pos()))
        color = theme.text if is_current or is_hovered else theme.second
        title_rect = box.adjusted(self._padding, 0, 0, -2)
        title_rect.setRight(min(title_rect.right(), self._uncovered_right()))  # a title below the buttons is elided
        title_width = draw_line(painter, title_rect, self.tabText(index), self.look.fonts.strong, color)
        if is_current:
            painter.fillRect(box.x(), box.bottom() - 1, box.width(), 2, theme.accent)
        if is_current and self.hasFocus():
            draw_frame(painter, box.adjusted(2, 4, -2, -5), 4, None, theme.accent)
        self._paint_figures(painter, index, box.x() + self._padding + title_width + GAP)

    def _paint_figures(self, painter: QPainter, index: int, x: int) -> None:
        """Paint the numbers of a tab, if it has any and they are not hidden."""
        figures = self._figures.get(index)
        if not figures or self._hides_figures:
            return
        theme, font, box = self.look.theme, self.look.fonts.caption, self.tabRect(index)
        width, height = self._figures_width(index), QFontMetrics(font).height() + 4
        frame = QRect(x, box.y() + (box.height() - 2 - height) // 2, width, height)
        draw_frame(painter, frame, 4, theme.raised, theme.strong_line)
        x += FIGURE_PADDING
        for figure in figures:
            rect = QRect(x, frame.y(), width, height)
            x += draw_line(painter, rect, figure.text, font, theme.color(figure.token)) + FIGURE_GAP


class TabStrip(QWidget):
    """A tab bar with a widget at its right end. `chosen` carries the name of the chosen tab.

    `padding` is the space on both sides of a title, in pixels.
    """

    chosen = Signal(str)
    clicked = Signal()
    """A tab was clicked, so its panel should take the focus."""

    def __init__(
        self,
        look: Look,
        right: QWidget,
        *,
        name: str,
        accessible_name: str,
        padding: int = PADDING,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._names: list[str] = []
        self._bar = FigureTabBar(look, name, accessible_name, padding)
        self._bar.currentChanged.connect(lambda index: self.chosen.emit(self._names[index]))
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
        index = self._bar.addTab(text)
        self._bar.setTabToolTip(index, self.tr("{} (Alt+{})").format(text, index + 1))

    def show_figures(self, name: str, figures: list[TabFigure]) -> None:
        self._bar.show_figures(self._names.index(name), figures)

    def select(self, name: str) -> None:
        self._bar.setCurrentIndex(self._names.index(name))

    def select_index(self, index: int) -> None:
        if index < len(self._names):
            self._bar.setCurrentIndex(index)

    def current(self) -> str:
        return self._names[self._bar.currentIndex()] if self._names else ""

    def restyle(self, look: Look) -> None:
        self._bar.restyle(look)
