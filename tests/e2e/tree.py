"""The window as a screen reader has it: names, roles, states and places of what one can use, read through the bus."""

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
CHECKED, ENABLED, FOCUSED, SHOWING = 4, 8, 12, 25  # AT-SPI's numbers of states
AT_ONCE = 100
TELLS_S = 0.5  # a part that says nothing of its keyboard by then will not
MENUS = ("popup menu", "menu")

Place = tuple[str, str]  # who shows it, and its path there


class Thing(NamedTuple):
    """One accessible object."""

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

    def is_called(self, id_: str) -> bool:
        """Qt tells the object names of all that it stands in."""
        return self.id == id_ or self.id.endswith(f".{id_}")

    def can_be_used(self) -> bool:
        return self.has(ENABLED) and self.area.right > self.area.left

    def __str__(self) -> str:
        where = f"{self.id.rpartition('QApplication.')[2][-50:]} {tuple(self.area)}"
        return f"{'  ' * self.depth}{self.role} {self.name!r} {where}" + (" *" if self.has(FOCUSED) else "")


@dataclass(frozen=True, slots=True)
class Bus:
    """A message bus of its own, on which programs tell what they show."""

    address: str

    def screen(self, on: Screen) -> Screen:
        """The same screen, for programs that shall tell."""
        told = {
            "DBUS_SESSION_BUS_ADDRESS": self.address,
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            "NO_AT_BRIDGE": "0",
            "QT_LOGGING_RULES": "qt.accessibility.atspi=false",  # it complains of each question about what is gone
        }
        return replace(on, more=told)


@contextmanager
def bus() -> Iterator[Bus]:
    """A message bus, ended with all that it started."""
    reading, writing = os.pipe()
    words = ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--print-address={writing}"]
    place = tempfile.TemporaryDirectory(prefix="bus-")  # else two of them on one machine take each other's socket
    daemon = subprocess.Popen(
        words, pass_fds=(writing,), env=os.environ | {"XDG_RUNTIME_DIR": place.name},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        os.close(writing)
        assert select.select([reading], [], [], BOUND_S)[0], "dbus-daemon does not start"
        with os.fdopen(reading) as told:
            yield Bus(told.readline().strip())
    finally:
        daemon.terminate()
        daemon.wait(BOUND_S)
        place.cleanup()


class Tree:
    """All that the programs on a bus tell."""

    def __init__(self, on: Bus) -> None:
        session = open_dbus_connection(on.address)
        try:
            where = DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus")
            answer = session.send_and_get_reply(new_method_call(where, "GetAddress"), timeout=BOUND_S)
        finally:
            session.close()
        self._bus = open_dbus_connection(answer.body[0])
        self._heard: deque[Message] = deque()
        self._menus: list[Place] = []
        self._known: dict[Place, tuple[str, str]] = {}  # role and id of what never changes them
        self._focus: Place | None = None
        self._fresh: list[Place] = []  # came to be seen since the last look
        self._listen("state-changed:showing", "StateChanged", 0)
        self._listen("state-changed:focused", "StateChanged", 0)

    def close(self) -> None:
        self._bus.close()

    def forget(self) -> None:
        """Who has the keyboard by now; what is heard later is news."""
        self._hear()
        self._focus = None

    def keyboard(self) -> list[Thing]:
        """Who got it since then, and for a line the list it is in; nothing where nobody tells so in time."""
        end = time.monotonic() + TELLS_S
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

    def listen(self) -> None:
        """From now on announcements come; programs tell them only when somebody listens."""
        self._listen("announcement", "Announcement")

    def announcement(self) -> str:
        """The words of the next one that nobody took yet."""
        while True:  # a bus that is silent for long raises
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
        """Take in what was said by now: who has the keyboard, and what came to be seen."""
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
        """Qt names menus that pop up in no tree: they are heard of when they show themselves."""
        self._hear()
        places, self._fresh = self._fresh, []
        roles = self._answers([_call(one, "Accessible", "GetRoleName") for one in places])
        fresh = [one for one, role in zip(places, roles, strict=True) if role and role[0] in MENUS]
        known = list(dict.fromkeys([*self._menus, *fresh]))
        states = self._answers([_call(one, "Accessible", "GetState") for one in known])
        self._menus = [one for one, state in zip(known, states, strict=True) if state]

    def shown(self) -> list[Thing]:
        """What one can see, outermost first; of what is hidden only that is asked."""
        root = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
        found: list[Thing] = []
        self._find_menus()
        level, depth = [*self._children([root]), *self._menus], 0
        while level:
            states = [_bits(body) for body in self._answers([_call(one, "Accessible", "GetState") for one in level])]
            seen = [(one, bits) for one, bits in zip(level, states, strict=True) if bits >> SHOWING & 1]
            found += self._things(seen, depth)
            level = self._children([one for one, _ in seen])
            depth += 1
        return found

    def _children(self, of: list[Place]) -> list[Place]:
        asked = [_call(one, "Accessible", "GetChildren") for one in of]
        return [child for body in self._answers(asked) if body for child in body[0]]

    def _things(self, of: list[tuple[Place, int]], depth: int) -> list[Thing]:
        self._know([one for one, _ in of])
        asked = []
        for one, _ in of:
            asked += [_call(one, "Component", "GetExtents", "u", (0,)), _property(one, "Name")]
        answers = self._answers(asked)
        return [
            Thing(*one, *self._known.get(one, ("", "")), _first(name), bits, _area(extents), depth)
            for (one, bits), extents, name in zip(of, answers[::2], answers[1::2], strict=True)
        ]

    def _know(self, places: list[Place]) -> None:
        new = [one for one in places if one not in self._known]
        asked = []
        for one in new:
            asked += [_call(one, "Accessible", "GetRoleName"), _property(one, "AccessibleId")]
        answers = self._answers(asked)
        for one, role, id_ in zip(new, answers[::2], answers[1::2], strict=True):
            if role and id_:
                self._known[one] = role[0], _first(id_)

    def _answers(self, asked: list[Message]) -> list[Any]:
        """Many at once, but not so many that the window has no time for anything else; nothing for what is gone."""
        return [found for at in range(0, len(asked), AT_ONCE) for found in self._some(asked[at : at + AT_ONCE])]

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


def _place(message: Message) -> Place:
    fields = message.header.fields
    return fields[HeaderFields.sender], fields[HeaderFields.path]


def _call(one: Place, interface: str, method: str, kinds: str = "", body: tuple[Any, ...] = ()) -> Message:
    where = DBusAddress(one[1], one[0], f"{ATSPI}.{interface}")
    return new_method_call(where, method, kinds, body) if kinds else new_method_call(where, method)


def _property(one: Place, name: str) -> Message:
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
