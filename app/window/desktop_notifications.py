"""Desktop notifications through the D-Bus service of Linux desktops, which needs no tray icon."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from ui.base.bridge import Bridge
from ui.base.panel_page import StartTask

if TYPE_CHECKING:
    from jeepney import Message
    from jeepney.io.asyncio import DBusRouter

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"
ICON = "journeyman"  # the name of our icon in the icon theme, and of our desktop entry
ANSWER_S = 5.0
UNREAD_SIGNALS = 32
OPEN = "default"  # the action of a click on the notification itself
USUAL_DURATION = -1
NONE_REPLACED = 0  # instead of the number of a notification that the new one replaces


class DesktopNotifications(QObject):
    """Shows notifications. A click on one emits `clicked` with the session that it belongs to.

    The D-Bus connection belongs to the engine's event loop. If the desktop has no notification service, `unavailable`
    is emitted with the notification, so that it can be shown in another place.
    """

    clicked = Signal(str)
    unavailable = Signal(str, str, str)
    """Session, title and text of a notification that could not be shown."""

    def __init__(self, bridge: Bridge, start_task: StartTask, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._start_task = start_task
        self._router: DBusRouter | None = None
        self._supports_markup = False
        self._sessions: dict[int, str] = {}  # the session of each notification on screen, by the notification's number

    def start(self) -> None:
        """Connect to the desktop, and receive clicks until the program ends."""
        self._start_task(self._bridge.ask(lambda _: self._serve()), "notifications")

    def show(self, session: str, title: str, text: str) -> None:
        """Show a notification; a later one of the same session replaces it."""
        if self._router is None:
            self.unavailable.emit(session, title, text)
        else:
            self._start_task(self._bridge.ask(lambda _: self._show(session, title, text)), "notify")

    def withdraw(self) -> None:
        """Remove all notifications from the screen, because the user is looking at the window."""
        if self._sessions and self._router is not None:
            self._start_task(self._bridge.ask(lambda _: self._withdraw()), "notify")

    async def _serve(self) -> None:
        try:
            from jeepney import MatchRule, message_bus
            from jeepney.io.asyncio import Proxy, open_dbus_router
        except ImportError:  # jeepney is installed only on Linux
            return
        rule = MatchRule(type="signal", interface=NAME, path=PATH)
        # The errors mean that there is no session bus, or that it ended.
        with suppress(OSError, KeyError, ValueError, asyncio.IncompleteReadError):
            async with open_dbus_router() as router:
                bus = Proxy(message_bus, router)
                await bus.AddMatch(rule)
                capabilities = await self._call(router, "GetCapabilities")
                if capabilities is None:
                    return
                self._supports_markup = "body-markup" in capabilities[0]
                with router.filter(rule, bufsize=UNREAD_SIGNALS) as signals:
                    self._router = router
                    while True:
                        self._on_signal(await signals.get())
        self._router = None

    def _on_signal(self, message: "Message") -> None:
        from jeepney import HeaderFields

        number = message.body[0]
        member = message.header.fields.get(HeaderFields.member)
        if member == "ActionInvoked" and number in self._sessions:
            self.clicked.emit(self._sessions[number])
        elif member == "NotificationClosed":
            self._sessions.pop(number, None)

    async def _show(self, session: str, title: str, text: str) -> None:
        router = self._router
        replaced = next((number for number, shown in self._sessions.items() if shown == session), NONE_REPLACED)
        body = text.replace("&", "&amp;") if self._supports_markup else text
        hints = {"desktop-entry": ("s", ICON)}
        values = ("Journeyman", replaced, ICON, title, body, [OPEN, self.tr("Open")], hints, USUAL_DURATION)
        answer = await self._call(router, "Notify", "susssasa{sv}i", values) if router else None
        if answer is None:
            self.unavailable.emit(session, title, text)
        else:
            self._sessions[answer[0]] = session

    async def _withdraw(self) -> None:
        for number in list(self._sessions):
            if self._router:
                await self._call(self._router, "CloseNotification", "u", (number,))

    async def _call(
        self, router: "DBusRouter", method: str, signature: str = "", values: tuple[Any, ...] = ()
    ) -> tuple[Any, ...] | None:
        """Call a method of the notification service. Return its values, or None if the call failed."""
        from jeepney import DBusAddress, MessageType, new_method_call

        address = DBusAddress(PATH, NAME, NAME)
        call = new_method_call(address, method, signature, values) if signature else new_method_call(address, method)
        with suppress(OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            # Not `asyncio.wait_for`: it would let a click be handled before the number of its notification is known.
            async with asyncio.timeout(ANSWER_S):
                answer = await router.send_and_get_reply(call)
            if answer.header.message_type == MessageType.method_return:
                return tuple(answer.body)
        return None
