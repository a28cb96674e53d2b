"""What the desktop shows of us: an icon that says how much waits, and a word when nobody looks at the window."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon, QWidget

from core.domain.clock import now as wall_clock
from core.domain.question import Question
from core.domain.sessions import SessionRow
from ui.ask.inbox import MOST, entry
from ui.ask.place import Asked
from ui.ask.said import of_consent, of_question
from ui.ask.whole_text import one_line

GATHER_MS: Final = 700  # several that come at once are one word
SIDES: Final = (16, 22, 32, 64)
LONGEST: Final = 160
SHOWN_MS: Final = 10_000

Waiting = Sequence[tuple[SessionRow, Asked]]


class Tray(QObject):
    """`wanted` names the session a person wants to see; empty is the window as it is."""

    wanted = Signal(str)
    new_run = Signal()
    leaving = Signal()

    def __init__(
        self, app: QApplication, window: QWidget, picture: QIcon, waiting: Callable[[], Waiting], dot: QColor,
        clock: Callable[[], int] = wall_clock,
    ) -> None:  # fmt: skip
        super().__init__(window)
        self._app = app
        self._window, self._picture, self._waiting, self._clock, self._dot = window, picture, waiting, clock, dot
        self._known = {asked.id for _, asked in waiting()}
        self._told = ""
        self._icon = QSystemTrayIcon(picture, self)
        self._menu = QMenu(window)
        self._menu.setObjectName("tray.menu")
        self._menu.aboutToShow.connect(self.fill)
        self._icon.setContextMenu(self._menu)
        self._icon.activated.connect(self._hear_click)
        self._icon.messageClicked.connect(lambda: self.wanted.emit(self._told))
        self._gather = QTimer(self, singleShot=True, interval=GATHER_MS)
        self._gather.timeout.connect(self._tell)
        self.fill()
        self.count()
        if QSystemTrayIcon.isSystemTrayAvailable():
            self._icon.show()

    @property
    def menu(self) -> QMenu:
        return self._menu

    def count(self) -> None:
        """Something began or ceased to wait."""
        waiting = self._waiting()
        number = len(waiting)
        self._icon.setIcon(badged(self._picture, number, self._dot))
        self._icon.setToolTip(self.tr("Journeyman: {} waiting for you").format(number) if number else "Journeyman")
        self._app.setBadgeNumber(number)
        if any(asked.id not in self._known for _, asked in waiting):
            self._gather.start()
        else:
            self._known = {asked.id for _, asked in waiting}

    def fill(self) -> None:
        """The menu as it is now."""
        menu, waiting = self._menu, self._waiting()
        menu.clear()
        for row, asked in waiting[:MOST]:
            action = menu.addAction(entry(row, asked, self._clock()))
            action.triggered.connect(self._chooser(row.id))
        if waiting:
            menu.addSeparator()
        menu.addAction(self.tr("Open Journeyman")).triggered.connect(lambda: self.wanted.emit(""))
        menu.addAction(self.tr("New run")).triggered.connect(lambda: self.new_run.emit())
        menu.addSeparator()
        menu.addAction(self.tr("Quit")).triggered.connect(lambda: self.leaving.emit())

    def close(self) -> None:
        self._gather.stop()
        self._icon.hide()

    def _tell(self) -> None:
        """Only where the window is not in front; there it says so itself."""
        waiting = self._waiting()
        new = [(row, asked) for row, asked in waiting if asked.id not in self._known]
        self._known = {asked.id for _, asked in waiting}
        if not new or self._window.isActiveWindow():
            return
        self._told = new[0][0].id
        QApplication.alert(self._window)
        if self._icon.isVisible():
            self._icon.showMessage(*words(new), self._picture, SHOWN_MS)

    def _hear_click(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason == QSystemTrayIcon.ActivationReason.Trigger:
            waiting = self._waiting()
            self.wanted.emit(waiting[0][0].id if waiting else "")

    def _chooser(self, session: str) -> Callable[[], None]:
        return lambda: self.wanted.emit(session)


def words(new: Waiting) -> tuple[str, str]:
    """Title and text of a notification: one that waits, or how many in how many sessions."""
    row, asked = new[0]
    if len(new) == 1:
        said = of_question(asked) if isinstance(asked, Question) else of_consent(asked)
        return _cut(row.title) or "Journeyman", _cut(said.bar)
    sessions = list(dict.fromkeys(_cut(row.title, 40) for row, _ in new))
    more = f" +{len(sessions) - 3}" if len(sessions) > 3 else ""
    return f"Journeyman ({len(new)})", _cut(", ".join(sessions[:3]) + more)


def badged(picture: QIcon, number: int, dot: QColor) -> QIcon:
    """The icon with the number on it."""
    if not number:
        return picture
    made = QIcon()
    for side in SIDES:
        drawn = QPixmap(side, side)
        drawn.fill(Qt.GlobalColor.transparent)
        with QPainter(drawn) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            picture.paint(painter, 0, 0, side, side)
            wide = max(9, side * 5 // 8)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(dot)
            painter.drawEllipse(side - wide, side - wide, wide, wide)
            font = QFont("Inter")
            font.setPixelSize(max(7, wide * 3 // 4))
            font.setWeight(QFont.Weight.Bold)
            painter.setFont(font)
            painter.setPen(QColor("black") if dot.lightness() > 110 else QColor("white"))
            text = str(number) if number < 10 else "9+"
            painter.drawText(side - wide, side - wide, wide, wide, Qt.AlignmentFlag.AlignCenter, text)
        made.addPixmap(drawn)
    return made


def _cut(text: str, most: int = LONGEST) -> str:
    """Short, on one line, and with nothing that a desktop could read as markup."""
    line = " ".join(one_line(text).split()).replace("<", "‹").replace(">", "›")
    return line if len(line) <= most else f"{line[: most - 1]}…"
