"""The system tray icon with the number of waiting requests, its menu, and desktop notifications."""

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QColor, QIcon
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon, QWidget

from core.domain.clock import now as wall_clock
from core.domain.sessions import SessionRow
from ui.ask.inbox import MAX_ENTRIES, WaitingRequest, decision_text, request_text, summarize
from ui.shell.badged_icon import with_badge
from ui.shell.notification_texts import ended_text, notification_text
from ui.widgets.announce import announce

GATHER_MS: Final = 700  # milliseconds; requests within this time are combined into one notification
SHOWN_MS: Final = 10_000


class Tray(QObject):
    """The tray icon. It also decides when to notify the user."""

    show_requested = Signal(str)
    """Raise the window and show this session, if it is not an empty string."""
    notification_requested = Signal(str, str, str)
    """Session, title and text of a notification to show."""
    new_session_requested = Signal()
    quit_requested = Signal()

    def __init__(
        self,
        app: QApplication,
        window: QWidget,
        picture: QIcon,
        *,
        waiting: Callable[[], Sequence[WaitingRequest]],
        badge_color: QColor,
        last_reply: Callable[[SessionRow], str] = lambda _: "",
        shown_session: Callable[[], str] = lambda: "",
        undecided: Callable[[], Sequence[SessionRow]] = tuple,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__(window)
        self._app = app
        self._window = window
        self._picture = picture
        self._waiting = waiting
        self._clock = clock
        self._badge_color = badge_color
        self._last_reply = last_reply
        self._shown_session = shown_session
        self._undecided = undecided
        self._known_ids = _request_ids(waiting())
        self._notified_session = ""
        self._icon = QSystemTrayIcon(picture, self)
        self._menu = QMenu(window)
        self._menu.setObjectName("tray.menu")
        self._menu.aboutToShow.connect(self.rebuild_menu)
        self._icon.setContextMenu(self._menu)
        self._icon.activated.connect(self._on_activated)
        self._icon.messageClicked.connect(lambda: self.show_requested.emit(self._notified_session))
        self._delay = QTimer(self, singleShot=True, interval=GATHER_MS)
        self._delay.timeout.connect(self._notify)
        self._ended: list[SessionRow] = []
        self._ended_delay = QTimer(self, singleShot=True, interval=GATHER_MS)
        self._ended_delay.timeout.connect(self._notify_of_ended)
        self.rebuild_menu()
        self.refresh()

    @property
    def menu(self) -> QMenu:
        return self._menu

    def refresh(self) -> None:
        """Show the number of waiting sessions on the icon, and schedule a notification for new requests."""
        waiting = self._waiting()
        number = len(waiting) + len(self._undecided())
        self._icon.setIcon(with_badge(self._picture, number, self._badge_color))
        # The tray of a desktop may start later than this process.
        if not self._icon.isVisible() and QSystemTrayIcon.isSystemTrayAvailable():
            self._icon.show()
        self._icon.setToolTip(self.tr("Journeyman: {} waiting for you").format(number) if number else "Journeyman")
        self._app.setBadgeNumber(number)
        if _request_ids(waiting) <= self._known_ids:
            self._known_ids = _request_ids(waiting)
        else:
            self._delay.start()

    def rebuild_menu(self) -> None:
        menu = self._menu
        now = self._clock()
        menu.clear()
        waiting = self._waiting()
        undecided = self._undecided()
        for entry in waiting[:MAX_ENTRIES]:
            text = request_text(entry.row, summarize(entry.request), now)
            menu.addAction(text).triggered.connect(self._show_handler(entry.row.id))
        for row in undecided[: max(0, MAX_ENTRIES - len(waiting))]:
            menu.addAction(decision_text(row, now)).triggered.connect(self._show_handler(row.id))
        if waiting or undecided:
            menu.addSeparator()
        menu.addAction(self.tr("Open Journeyman")).triggered.connect(lambda: self.show_requested.emit(""))
        menu.addAction(self.tr("New session")).triggered.connect(lambda: self.new_session_requested.emit())
        menu.addSeparator()
        menu.addAction(self.tr("Quit")).triggered.connect(lambda: self.quit_requested.emit())

    def close(self) -> None:
        self._delay.stop()
        self._ended_delay.stop()
        self._icon.hide()

    def _notify(self) -> None:
        """Show a notification for new requests, or announce those that the active window does not show."""
        waiting = self._waiting()
        new = [entry for entry in waiting if entry.request.id not in self._known_ids]
        self._known_ids = _request_ids(waiting)
        if self._window.isActiveWindow():
            new = [entry for entry in new if entry.row.id != self._shown_session()]
        if not new:
            return
        message = notification_text(new)
        if self._window.isActiveWindow():
            announce(self._window, f"{message.title}. {message.text}")
            return
        QApplication.alert(self._window)
        self.notification_requested.emit(new[0].row.id, message.title, message.text)

    def notify_ended(self, rows: Sequence[SessionRow]) -> None:
        """Notify the user, after a short delay, that the runs of these sessions have ended."""
        self._ended += rows
        self._ended_delay.start()

    def _notify_of_ended(self) -> None:
        ended, self._ended = self._ended, []
        if not ended:
            return
        last = ended[-1]
        # The reply of the session shown has been announced while it arrived.
        was_announced = self._window.isActiveWindow() and last.id == self._shown_session()
        message = ended_text(ended, "" if was_announced else self._last_reply(last))
        if self._window.isActiveWindow():
            announce(self._window, f"{message.title.removesuffix('.')}. {message.text}")
            return
        QApplication.alert(self._window)
        self.notification_requested.emit(last.id, message.title, message.text)

    def show_message(self, session: str, title: str, text: str) -> None:
        """Show a notification through the tray icon, for desktops that do not support other notifications."""
        self._notified_session = session
        self._icon.showMessage(title, text, self._picture, SHOWN_MS)

    def _on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason == QSystemTrayIcon.ActivationReason.Trigger:
            rows = [*(entry.row for entry in self._waiting()), *self._undecided()]
            self.show_requested.emit(rows[0].id if rows else "")

    def _show_handler(self, session: str) -> Callable[[], None]:
        return lambda: self.show_requested.emit(session)


def _request_ids(waiting: Sequence[WaitingRequest]) -> set[str]:
    return {entry.request.id for entry in waiting}
