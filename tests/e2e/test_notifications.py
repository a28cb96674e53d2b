"""Desktop notifications of the real program, through a notification service on a private bus."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any

from jeepney import DBusAddress, HeaderFields, MessageType, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from tests.e2e.accessibility import AccessibilityBus, AccessibilityTree
from tests.e2e.screen import BOUND_S, Program, Screen, running_program, wait_until
from tests.e2e.simulated_user import SimulatedUser

NAME = "org.freedesktop.Notifications"
ADDRESS = DBusAddress("/org/freedesktop/Notifications", interface=NAME)
ASK = {"name": "ask_user", "arguments": {"question": "Which tone?", "options": [{"label": "Firm"}, {"label": "Kind"}]}}
WAIT = {"name": "run", "arguments": {"command": "while [ ! -e go ]; do sleep 0.1; done"}}


class Desktop:
    """A notification service, which records what it is asked to show and can click on it."""

    def __init__(self, connection: DBusConnection) -> None:
        self._connection = connection
        self._shown: Queue[tuple[Any, ...]] = Queue()
        self._titles: list[str] = []
        self._clicked: Queue[int] = Queue()

    def next(self) -> tuple[str, str]:
        """Return title and text of the next notification."""
        values = self._shown.get(timeout=BOUND_S)
        return values[3], values[4]

    def click(self, title: str) -> None:
        """Report a click on the latest notification with this title, as a desktop does."""
        self._clicked.put(len(self._titles) - self._titles[::-1].index(title))

    def serve(self, ended: Event) -> None:
        while not ended.is_set():
            while not self._clicked.empty():
                number = self._clicked.get()
                self._connection.send(new_signal(ADDRESS, "ActionInvoked", "us", (number, "default")))
                self._connection.send(new_signal(ADDRESS, "NotificationClosed", "uu", (number, 2)))
            try:
                message = self._connection.receive(timeout=0.2)
            except TimeoutError:
                continue
            if message.header.message_type == MessageType.method_call:
                self._answer(message)

    def _answer(self, message: Any) -> None:
        match message.header.fields.get(HeaderFields.member):
            case "GetCapabilities":
                reply = new_method_return(message, "as", (["actions", "body", "body-markup"],))
            case "Notify":
                self._titles.append(message.body[3])
                reply = new_method_return(message, "u", (len(self._titles),))
            case _:
                reply = new_method_return(message)
        self._connection.send(reply)
        if message.header.fields.get(HeaderFields.member) == "Notify":
            self._shown.put(message.body)


@contextmanager
def desktop(bus: AccessibilityBus) -> Iterator[Desktop]:
    with closing(open_dbus_connection(bus.address)) as connection:
        connection.send_and_get_reply(message_bus.RequestName(NAME), timeout=BOUND_S)
        made, ended = Desktop(connection), Event()
        thread = Thread(target=made.serve, args=(ended,))
        thread.start()
        try:
            yield made
        finally:
            ended.set()
            thread.join()


@contextmanager
def window(display: Screen, bus: AccessibilityBus, home: Path) -> Iterator[tuple[Desktop, Program, SimulatedUser]]:
    """Run the program on a desktop with notifications, until its window shows the start page."""
    with (
        closing(AccessibilityTree(bus)) as tree,
        desktop(bus) as shown,
        running_program(display, home) as program,
    ):
        user = SimulatedUser(display, program, tree)
        user.wait_for("start.demo")
        yield shown, program, user


def start(program: Program, title: str, replies: Sequence[object]) -> None:
    """Start a session in the running program, and return when it has ended or waits."""
    folder = program.home.parent / "work"
    folder.mkdir(exist_ok=True)
    script = program.home.parent / f"{title}.json"
    script.write_text(json.dumps({"replies": replies}))
    program.command("run", "--script", str(script), "-C", str(folder), "--mode", "auto", title)


def test_requests_and_ended_runs_are_reported(display: Screen, accessibility_bus: AccessibilityBus, home: Path) -> None:
    with window(display, accessibility_bus, home) as (shown, program, _):
        display.xdotool("search", "--onlyvisible", "--name", "Journeyman", "windowminimize")
        start(program, "Letter", [{"text": "I ask.", "calls": [ASK]}])
        assert shown.next() == ("Letter", "Which tone?")
        start(program, "Sums", [{"text": "1 < 2 & 3."}])
        assert shown.next() == ("Sums", "Finished: 1 ‹ 2 &amp; 3.")
        start(program, "Bill", [{"fault": "too_long"}] * 8)
        title, text = shown.next()
        assert title == "Bill" and text.startswith("Failed: ")


def test_a_click_on_a_notification_opens_its_session(
    display: Screen, accessibility_bus: AccessibilityBus, home: Path
) -> None:
    with window(display, accessibility_bus, home) as (shown, program, user):
        for title, replies in (("Sums", [{"text": "Three."}]), ("Letter", [{"text": "I ask.", "calls": [ASK]}])):
            display.xdotool("search", "--onlyvisible", "--name", "Journeyman", "windowminimize")
            wait_until(lambda: not display.titles(), "the window is minimized")
            start(program, title, replies)
            assert shown.next()[0] == title
            if title == "Sums":
                start(program, "Bill", [{"text": "Paid."}])  # a later one, which the click must not open
                assert shown.next()[0] == "Bill"
            shown.click(title)
            wait_until(display.titles, "the window is in front")
            user.wait_for("run.title", title)
        user.wait_for("question.option.2", "Kind")


def test_without_a_tray_the_last_run_is_reported_before_the_hidden_program_ends(
    display: Screen, accessibility_bus: AccessibilityBus, home: Path
) -> None:
    with window(display, accessibility_bus, home) as (shown, program, user):
        work = Thread(target=start, args=(program, "Slow", [{"calls": [WAIT]}, {"text": "All done."}]))
        work.start()
        user.wait_for("sessions.list", name="Slow", role="cell")
        program.wait_for_status("running")
        display.keys("alt+F4")
        user.wait_for("close.text", name="no tray icons")
        user.click("close.background")
        wait_until(lambda: not display.titles(), "the window is hidden")
        (home.parent / "work" / "go").touch()
        assert shown.next() == ("Slow", "Finished: All done.")
        work.join()
        program.check_clean_exit()
