"""The sessions a person keeps at hand, as a line of tabs over the one that is shown."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QTabBar, QToolButton

from core.domain.sessions import SessionRow
from ui.icons import icon, status_icon
from ui.theme import Look, wear
from ui.visible import visible

WIDEST = 220
GLYPH = 14


class SessionTabs(QTabBar):
    """Not seen while there is none. `row` knows the line of a session.

    One tab may be of a session that is only passing: it gives way to the next one.
    """

    wanted = Signal(str)
    closed = Signal(str)
    """The person has done with this tab."""
    kept = Signal()

    def __init__(self, look: Look, row: Callable[[str], SessionRow]) -> None:
        super().__init__()
        self._look, self._row = look, row
        self.marked, self._passing = "", ""
        self.setObjectName("tabs")
        self.setAccessibleName(self.tr("Sessions at hand"))
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setMovable(True)
        self.setElideMode(Qt.TextElideMode.ElideRight)
        self.setUsesScrollButtons(True)
        self.setFont(look.fonts.text)
        self.tabBarClicked.connect(self._go)
        self.tabMoved.connect(lambda *_: self.kept.emit())
        self.hide()

    def names(self) -> list[str]:
        """The sessions that are kept."""
        return [name for name in self._all() if name != self._passing]

    def open(self, names: Sequence[str]) -> None:
        """Keep these, where they are not kept yet."""
        for name in names:
            if name == self._passing:
                self._passing = ""
            elif name not in self._all():
                self._add(name)
        self._settle()

    def pass_on(self, name: str) -> None:
        """The session that is shown here without being kept; none, or one that is kept, has no tab of this sort."""
        if name in self.names():
            name = ""
        if name != self._passing:
            if self._passing:
                self.removeTab(self._all().index(self._passing))
            self._passing = name
            if name:
                self._add(name)
            self._settle()

    def close(self, name: str) -> None:  # type: ignore[override]  # of a tab: the line itself is never closed
        """Take a tab away, if there is one."""
        if name in self._all():
            self.removeTab(self._all().index(name))
            self._passing = "" if name == self._passing else self._passing
            self._settle()

    def mark(self, name: str, *, here: bool = True) -> None:
        """This session is shown, and worked in if it is `here`; it may have no tab."""
        self.marked = name if name in self._all() else ""
        if self.marked:
            self.setCurrentIndex(self._all().index(name))
        # Qt has always one that is current; it only looks so where it is.
        wear(self, none=not self.marked, away=not here)

    def refresh(self, name: str) -> None:
        """Its title or status changed."""
        if name in self._all():
            place, row = self._all().index(name), self._row(name)
            self.setTabText(place, visible(row.title).replace("&", "&&"))
            self.setTabToolTip(place, visible(row.title))
            self.setTabIcon(place, icon(status_icon(row.status), self._look.theme.status(row.status)))

    def beside(self, name: str, step: int) -> str:
        """The next or previous tab, round and round; empty where there is none."""
        names = self._all()
        place = names.index(name) + step if name in names else 0
        return names[place % len(names)] if names else ""

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)
        for place, name in enumerate(self._all()):
            self._give_button(place, name)
            self.refresh(name)

    def _all(self) -> list[str]:
        return [str(self.tabData(place)) for place in range(self.count())]

    def _add(self, name: str) -> None:
        place = self.addTab("")
        self.setTabData(place, name)
        self._give_button(place, name)
        self.refresh(name)

    def _give_button(self, place: int, name: str) -> None:
        made = QToolButton()
        made.setObjectName("tabs.close")
        made.setAccessibleName(self.tr("Close the tab"))
        made.setToolTip(self.tr("Close the tab (Ctrl+W); the session stays"))
        side = self._look.size(GLYPH)
        made.setFixedSize(side + 6, side + 6)
        made.setIconSize(QSize(side, side))
        made.setIcon(icon("x", self._look.theme.second, side))
        made.clicked.connect(lambda: self.closed.emit(name))
        self.setTabButton(place, QTabBar.ButtonPosition.RightSide, made)

    def _go(self, place: int) -> None:
        if place >= 0:
            self.wanted.emit(self._all()[place])

    def _settle(self) -> None:
        self.setVisible(self.count() > 0)
        self.kept.emit()

    # Qt

    def tabSizeHint(self, index: int) -> QSize:
        hint = super().tabSizeHint(index)
        return QSize(min(hint.width(), self._look.size(WIDEST)), hint.height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:  # Qt would take any button for a wish to go there
            super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        place = self.tabAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.MiddleButton and place >= 0:
            self.closed.emit(self._all()[place])
            return
        super().mouseReleaseEvent(event)
