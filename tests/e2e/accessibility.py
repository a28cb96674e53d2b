"""Reads names, roles, states and positions of all controls through AT-SPI, as a screen reader does."""

import os
import select
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from jeepney import DBusAddress, HeaderFields, MatchRule, Message, MessageType, new_method_call
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

from tests.e2e.screen import BOUND_S, PAUSE, Area, Screen

ATSPI = "org.a11y.atspi"
CHECKED, ENABLED, FOCUSABLE, FOCUSED, SHOWING = 4, 8, 11, 12, 25  # state numbers of AT-SPI
BATCH_SIZE = 100  # pipelined requests
FOCUS_TIMEOUT_S = 0.5  # a control that has not reported focus by then will not
MENUS = ("popup menu", "menu")

ObjectPath = tuple[str, str]  # bus name of the program, and object path


class AccessibleObject(NamedTuple):
    """An accessible object."""

    owner: str
    path: str
    role: str
    id: str
    name: str
    states: int
    area: Area
    depth: int

    def has(self, state: int) -> bool:
        return bool(self.states >> state & 1)

    def has_id(self, id_: str) -> bool:
        """Return whether the object name is `id_`; Qt reports it with the names of all its parents."""
        return self.id == id_ or self.id.endswith(f".{id_}")

    def is_usable(self) -> bool:
        return self.has(ENABLED) and self.area.right > self.area.left

    def __str__(self) -> str:
        where = f"{self.id.rpartition('QApplication.')[2][-50:]} {tuple(self.area)}"
        return f"{'  ' * self.depth}{self.role} {self.name!r} {where}" + (" *" if self.has(FOCUSED) else "")


@dataclass(frozen=True, slots=True)
class AccessibilityBus:
    """A private message bus on which programs expose their accessibility trees."""

    address: str

    def connect_screen(self, on: Screen) -> Screen:
        """Return the screen with an environment that makes programs expose themselves on this bus."""
        variables = {
            "DBUS_SESSION_BUS_ADDRESS": self.address,
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            "NO_AT_BRIDGE": "0",
            "QT_LOGGING_RULES": "qt.accessibility.atspi=false",  # warns about requests for removed objects
        }
        return replace(on, extra_variables=variables)


@contextmanager
def private_bus() -> Iterator[AccessibilityBus]:
    """Start a private message bus, and end it with the services it started."""
    reading, writing = os.pipe()
    words = ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--print-address={writing}"]
    place = tempfile.TemporaryDirectory(prefix="bus-")  # otherwise two buses would share a socket
    daemon = subprocess.Popen(
        words, pass_fds=(writing,), env=os.environ | {"XDG_RUNTIME_DIR": place.name},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        os.close(writing)
        assert select.select([reading], [], [], BOUND_S)[0], "dbus-daemon did not start"
        with os.fdopen(reading) as address:
            yield AccessibilityBus(address.readline().strip())
    finally:
        daemon.terminate()
        daemon.wait(BOUND_S)
        place.cleanup()


class AccessibilityTree:
    """The accessibility trees of all programs on a bus."""

    def __init__(self, on: AccessibilityBus) -> None:
        session = open_dbus_connection(on.address)
        try:
            where = DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus")
            answer = session.send_and_get_reply(new_method_call(where, "GetAddress"), timeout=BOUND_S)
        finally:
            session.close()
        self._bus = open_dbus_connection(answer.body[0])
        self._heard: deque[Message] = deque()
        self._menus: list[ObjectPath] = []
        self._known: dict[ObjectPath, tuple[str, str]] = {}  # cached role and id, which never change
        self._focus: ObjectPath | None = None
        self._fresh: list[ObjectPath] = []  # objects shown that are not processed yet
        self._listen("state-changed:showing", "StateChanged", 0)
        self._listen("state-changed:focused", "StateChanged", 0)

    def close(self) -> None:
        self._bus.close()

    def forget_focus(self) -> None:
        """Forget the current focus, so that `wait_for_focus` waits for the next change."""
        self._hear()
        self._focus = None

    def wait_for_focus(self) -> list[AccessibleObject]:
        """Return the object focused since `forget_focus` and its parent; nothing if no change is reported in time."""
        end = time.monotonic() + FOCUS_TIMEOUT_S
        while self._focus is None:
            if time.monotonic() > end:
                return []
            PAUSE.wait(0.01)
            self._hear()
        inner = self._focus
        [parent] = self._answers([_property(inner, "Parent")])
        outer = [tuple(parent[0][1])] if parent else []
        states = self._answers([_call(one, "Accessible", "GetState") for one in (inner, *outer)])
        return self._things([(one, _bits(state)) for one, state in zip((inner, *outer), states, strict=True)], 0)

    def subscribe_announcements(self) -> None:
        """Subscribe to announcements; programs send them only to listeners."""
        self._listen("announcement", "Announcement")

    def next_announcement(self) -> str:
        """Return the text of the next announcement; raise an error if none comes in time."""
        while True:  # `receive` raises after its timeout
            message = self._heard.popleft() if self._heard else self._bus.receive(timeout=BOUND_S)
            if message.header.fields.get(HeaderFields.member) == "Announcement":
                return str(message.body[3][1])

    def _listen(self, event: str, member: str, argument: int | None = None) -> None:
        registry = DBusAddress("/org/a11y/atspi/registry", f"{ATSPI}.Registry", f"{ATSPI}.Registry")
        asked = new_method_call(registry, "RegisterEvent", "s", (f"object:{event}",))
        rule = MatchRule(type="signal", interface=f"{ATSPI}.Event.Object", member=member)
        if argument is not None:
            rule.add_arg_condition(argument, event.rpartition(":")[2])
        for message in (asked, message_bus.AddMatch(rule)):
            self._bus.send_and_get_reply(message, timeout=BOUND_S)

    def _hear(self) -> None:
        """Process the pending signals: focus changes and newly shown objects."""
        with suppress(TimeoutError):
            while True:
                self._heard.append(self._bus.receive(timeout=0))
        for message in [one for one in self._heard if one.header.fields.get(HeaderFields.member) == "StateChanged"]:
            self._heard.remove(message)
            kind, on, *_ = message.body
            if kind == "showing" and on:
                self._fresh.append(_place(message))
            elif kind == "focused" and on:
                self._focus = _place(message)

    def _find_menus(self) -> None:
        """Find pop-up menus, which Qt does not list in its tree, by the signal they send when shown."""
        self._hear()
        places, self._fresh = self._fresh, []
        roles = self._answers([_call(one, "Accessible", "GetRoleName") for one in places])
        fresh = [one for one, role in zip(places, roles, strict=True) if role and role[0] in MENUS]
        known = list(dict.fromkeys([*self._menus, *fresh]))
        states = self._answers([_call(one, "Accessible", "GetState") for one in known])
        self._menus = [one for one, state in zip(known, states, strict=True) if state]

    def visible_objects(self) -> list[AccessibleObject]:
        """Return all visible objects, outermost first."""
        root = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
        found: list[AccessibleObject] = []
        self._find_menus()
        level, depth = [*self._children([root]), *self._menus], 0
        while level:
            states = [_bits(body) for body in self._answers([_call(one, "Accessible", "GetState") for one in level])]
            seen = [(one, bits) for one, bits in zip(level, states, strict=True) if bits >> SHOWING & 1]
            found += self._things(seen, depth)
            level = self._children([one for one, _ in seen])
            depth += 1
        return found

    def _children(self, of: list[ObjectPath]) -> list[ObjectPath]:
        asked = [_call(one, "Accessible", "GetChildren") for one in of]
        return [child for body in self._answers(asked) if body for child in body[0]]

    def _things(self, of: list[tuple[ObjectPath, int]], depth: int) -> list[AccessibleObject]:
        self._know([one for one, _ in of])
        asked = []
        for one, _ in of:
            asked += [_call(one, "Component", "GetExtents", "u", (0,)), _property(one, "Name")]
        answers = self._answers(asked)
        return [
            AccessibleObject(*one, *self._known.get(one, ("", "")), _first(name), bits, _area(extents), depth)
            for (one, bits), extents, name in zip(of, answers[::2], answers[1::2], strict=True)
        ]

    def _know(self, places: list[ObjectPath]) -> None:
        new = [one for one in places if one not in self._known]
        asked = []
        for one in new:
            asked += [_call(one, "Accessible", "GetRoleName"), _property(one, "AccessibleId")]
        answers = self._answers(asked)
        for one, role, id_ in zip(new, answers[::2], answers[1::2], strict=True):
            if role and id_:
                self._known[one] = role[0], _first(id_)

    def _answers(self, asked: list[Message]) -> list[Any]:
        """Send requests in batches, so that the window stays responsive; the reply is None if the object is gone."""
        return [found for at in range(0, len(asked), BATCH_SIZE) for found in self._some(asked[at : at + BATCH_SIZE])]

    def _some(self, asked: list[Message]) -> list[Any]:
        order = {}
        for at, message in enumerate(asked):
            serial = next(self._bus.outgoing_serial)
            self._bus.send(message, serial=serial)
            order[serial] = at
        found: list[Any] = [None] * len(asked)
        while order:
            answer = self._bus.receive(timeout=BOUND_S)
            serial = answer.header.fields.get(HeaderFields.reply_serial, 0)
            if answer.header.message_type == MessageType.signal:
                self._heard.append(answer)
            elif serial in order:
                at = order.pop(serial)
                found[at] = answer.body if answer.header.message_type == MessageType.method_return else None
        return found


def _place(message: Message) -> ObjectPath:
    fields = message.header.fields
    return fields[HeaderFields.sender], fields[HeaderFields.path]


def _call(one: ObjectPath, interface: str, method: str, kinds: str = "", body: tuple[Any, ...] = ()) -> Message:
    where = DBusAddress(one[1], one[0], f"{ATSPI}.{interface}")
    return new_method_call(where, method, kinds, body) if kinds else new_method_call(where, method)


def _property(one: ObjectPath, name: str) -> Message:
    where = DBusAddress(one[1], one[0], "org.freedesktop.DBus.Properties")
    return new_method_call(where, "Get", "ss", (f"{ATSPI}.Accessible", name))


def _bits(body: Any) -> int:
    low, high = body[0] if body else (0, 0)
    return int(low | high << 32)


def _first(variant: Any) -> str:
    return str(variant[0][1]) if variant else ""


def _area(extents: Any) -> Area:
    left, top, width, height = extents[0] if extents else (0, 0, 0, 0)
    return Area(left, top, left + width, top + height)
