"""A tab bar whose tabs can show counts next to their titles."""

from typing import Final, NamedTuple

from PySide6.QtCore import QMargins, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QTabBar, QToolButton, QVBoxLayout, QWidget

from ui.style.icons import icon
from ui.style.theme import Look
from ui.widgets.labels import hairline
from ui.widgets.paint import draw_frame, draw_line

# In pixels
TITLE_PADDING: Final = 10  # left and right of a title
TAB_PADDING: Final = 10  # above and below a title
TITLE_TO_COUNTS: Final = 6
COUNT_SPACING: Final = 4
COUNTS_PADDING: Final = QMargins(6, 2, 6, 2)  # between the frame around the counts of a tab and the counts
UNDERLINE_HEIGHT: Final = 2  # of the line below the current tab
FOCUS_FRAME_MARGINS: Final = QMargins(2, 4, 2, 5)
CORNER_RADIUS: Final = 4
ARROW_SIZE: Final = 14
STRIP_MARGINS: Final = QMargins(18, 0, 16, 0)


class TabCount(NamedTuple):
    """A count beside the title of a tab, such as `3` or `+84`; `token` names its color in the theme."""

    text: str
    token: str = "second"


class CountTabBar(QTabBar):
    """A tab bar that paints the counts of its tabs itself, because Qt's tab buttons would be too far from the title.

    If the tabs fit only without them, the counts are left out.
    """

    def __init__(self, look: Look, name: str, accessible_name: str, title_padding: int) -> None:
        super().__init__()
        self.look = look
        self._title_padding = title_padding
        self._counts: dict[int, list[TabCount]] = {}
        self._leaves_out_counts = False
        self.setObjectName(name)
        self.setAccessibleName(accessible_name)
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.setMouseTracking(True)
        self.restyle(look)

    def show_counts(self, index: int, counts: list[TabCount]) -> None:
        if self._counts.get(index, []) != counts:
            self._counts[index] = counts
            counts_text = " ".join(count.text for count in counts)
            self.setAccessibleTabName(index, f"{self.tabText(index)} {counts_text}".strip())
            self._fit_counts()
            self._lay_out_again()

    def _lay_out_again(self) -> None:
        """Make Qt ask for the sizes of the tabs again."""
        if self.count():
            # QTabBar has no method for this, but does it whenever a text is set, even to the same text.
            self.setTabText(0, self.tabText(0))

    def _fit_counts(self) -> None:
        """Leave out the counts if all tabs fit without them, but not with them."""
        tabs = range(self.count())
        with_counts = sum(self._tab_width(index, with_counts=True) for index in tabs)
        without_counts = sum(self._tab_width(index, with_counts=False) for index in tabs)
        leaves_out_counts = without_counts <= self.width() < with_counts
        if leaves_out_counts != self._leaves_out_counts:
            self._leaves_out_counts = leaves_out_counts
            self._lay_out_again()

    def _tab_width(self, index: int, *, with_counts: bool) -> int:
        title_width = QFontMetrics(self.look.fonts.strong).horizontalAdvance(self.tabText(index))
        width = title_width + 2 * self._title_padding
        if with_counts and self._counts.get(index):
            width += TITLE_TO_COUNTS + self._counts_width(index)
        return width

    def _counts_width(self, index: int) -> int:
        """Return the width of the frame around the counts of a tab, which has at least one."""
        metrics = QFontMetrics(self.look.fonts.caption)
        widths = [metrics.horizontalAdvance(count.text) for count in self._counts[index]]
        padding = COUNTS_PADDING.left() + COUNTS_PADDING.right()
        return sum(widths) + COUNT_SPACING * (len(widths) - 1) + padding

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
        size, look = self.look.size(ARROW_SIZE), self.look
        for button in self.findChildren(QToolButton):
            button.setArrowType(Qt.ArrowType.NoArrow)
            left = button.objectName() == "ScrollLeftButton"
            button.setIcon(icon("chevron-left" if left else "chevron-right", look.theme.text, size))
            button.setIconSize(QSize(size, size))

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_counts()

    def tabLayoutChange(self) -> None:
        """Set the icons again, because Qt has just set its own arrows."""
        self._show_arrows()

    def tabSizeHint(self, index: int) -> QSize:
        width = self._tab_width(index, with_counts=not self._leaves_out_counts)
        return QSize(width, QFontMetrics(self.look.fonts.strong).height() + 2 * TAB_PADDING)

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
        title_rect = box.adjusted(self._title_padding, 0, 0, -UNDERLINE_HEIGHT)
        title_rect.setRight(min(title_rect.right(), self._uncovered_right()))  # a title below the buttons is elided
        title_width = draw_line(painter, title_rect, self.tabText(index), self.look.fonts.strong, color)
        if is_current:
            painter.fillRect(box.adjusted(0, box.height() - UNDERLINE_HEIGHT, 0, 0), theme.accent)
        if is_current and self.hasFocus():
            draw_frame(painter, box.marginsRemoved(FOCUS_FRAME_MARGINS), CORNER_RADIUS, None, theme.accent)
        if self._counts.get(index) and not self._leaves_out_counts:
            self._paint_counts(painter, index, box.x() + self._title_padding + title_width + TITLE_TO_COUNTS)

    def _paint_counts(self, painter: QPainter, index: int, x: int) -> None:
        """Paint the counts of a tab, with a frame around them whose left edge is at `x`."""
        theme, font, box = self.look.theme, self.look.fonts.caption, self.tabRect(index)
        width = self._counts_width(index)
        height = QFontMetrics(font).height() + COUNTS_PADDING.top() + COUNTS_PADDING.bottom()
        frame = QRect(x, box.y() + (box.height() - UNDERLINE_HEIGHT - height) // 2, width, height)
        draw_frame(painter, frame, CORNER_RADIUS, theme.raised, theme.strong_line)
        x += COUNTS_PADDING.left()
        for count in self._counts[index]:
            rect = QRect(x, frame.y(), width, height)
            x += draw_line(painter, rect, count.text, font, theme.color(count.token)) + COUNT_SPACING


class TabStrip(QWidget):
    """A tab bar with a widget at its right end. `chosen` carries the name of the chosen tab.

    `title_padding` is the space on both sides of a title, in pixels.
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
        title_padding: int = TITLE_PADDING,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._names: list[str] = []
        self._bar = CountTabBar(look, name, accessible_name, title_padding)
        self._bar.currentChanged.connect(lambda index: self.chosen.emit(self._names[index]))
        # Queued, because Qt emits this signal before it makes the clicked tab the current one.
        self._bar.tabBarClicked.connect(lambda _: self.clicked.emit(), Qt.ConnectionType.QueuedConnection)
        row = QHBoxLayout()
        row.setContentsMargins(STRIP_MARGINS)
        row.addWidget(self._bar, 1)
        row.addWidget(right)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(hairline())
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def add(self, name: str, text: str) -> None:
        self._names.append(name)  # before `addTab`, which chooses the first tab and so emits `currentChanged`
        index = self._bar.addTab(text)
        self._bar.setTabToolTip(index, self.tr("{} (Alt+{})").format(text, index + 1))

    def show_counts(self, name: str, counts: list[TabCount]) -> None:
        self._bar.show_counts(self._names.index(name), counts)

    def select(self, name: str) -> None:
        self._bar.setCurrentIndex(self._names.index(name))

    def select_index(self, index: int) -> None:
        if index < len(self._names):
            self._bar.setCurrentIndex(index)

    def current(self) -> str:
        return self._names[self._bar.currentIndex()] if self._names else ""

    def restyle(self, look: Look) -> None:
        self._bar.restyle(look)
