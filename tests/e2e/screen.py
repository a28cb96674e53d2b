"""A screen of its own for the real program: what is painted on it, and hands. No door into the program."""

import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from core.store.reader import Reader, Unreadable
from tests.e2e.health import FROZEN_MS, stalls
from ui.theme import load_theme

ROOT = Path(__file__).parents[2]
NOT_GIVEN = {"WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "PYTHONDONTWRITEBYTECODE"}  # as a person starts it
BOUND_S = 60.0  # of a busy machine
CLOSES_S = 30.0
BUS_LATE = "QSpiApplication::"  # Qt, of a screen reader's bus that answered late; the key counts all the same
LIGHT = load_theme("light")
PAUSE = threading.Event()

T = TypeVar("T")


def until(look: Callable[[], T | None], what: str, bound: float = BOUND_S) -> T:
    """The first thing found that is not nothing."""
    end = time.monotonic() + bound
    while not (found := look()):
        assert time.monotonic() < end, f"{what}: not within {bound:g} s"
        PAUSE.wait(0.03)
    return found


REST = 8  # equal looks, each 30 ms and a picture apart


class Area(NamedTuple):
    left: int
    top: int
    right: int
    bottom: int

    @property
    def middle(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2


class Picture:
    """The pixels of the screen: rows of four bytes each, blue first."""

    def __init__(self, file: bytes) -> None:
        head = struct.unpack(">25I", file[:100])
        self.width, self.height, self._line = head[4], head[5], head[12]
        self._data = file[head[0] + head[19] * 12 :]

    def save(self, path: Path) -> None:
        """For eyes."""
        from PySide6.QtGui import QImage

        QImage(self._data, self.width, self.height, self._line, QImage.Format.Format_RGB32).save(str(path))

    def row(self, y: int) -> bytes:
        return self._data[y * self._line : y * self._line + self.width * 4]

    def colour(self, x: int, y: int) -> str:
        blue, green, red = self.row(y)[x * 4 : x * 4 + 3]
        return f"#{red:02x}{green:02x}{blue:02x}"

    def areas(self, colour: str, least: int = 20) -> list[Area]:
        """Where this colour fills a place of at least `least` pixels in each direction, from top to bottom."""
        found: list[list[int]] = []
        for y in range(0, self.height, 2):
            for left, right in self._runs(y, colour, least):
                near = next((a for a in found if a[0] <= right and left <= a[2] and y - a[3] <= 20), None)
                if near is None:
                    found.append([left, y, right, y])
                else:
                    near[:] = [min(near[0], left), near[1], max(near[2], right), y]
        return [Area(*area) for area in found if area[3] - area[1] >= least]

    def edge(self, colour: str, least: int = 60) -> Area | None:
        """The longest upright line of this colour, three pixels wide."""
        lines: dict[int, list[int]] = {}
        for y in range(self.height):
            for left, right in self._runs(y, colour, 3):
                if right - left == 3:
                    lines.setdefault(left, []).append(y)
        x, rows = max(lines.items(), key=lambda line: len(line[1]), default=(0, []))
        return Area(x, rows[0], x + 3, rows[-1]) if len(rows) >= least else None

    def stretches(self, x: int, top: int, bottom: int, colour: str, least: int) -> list[tuple[int, int]]:
        """Going down at `x`: where this colour begins and ends."""
        found: list[tuple[int, int]] = []
        begin = None
        for y in range(top, bottom + 2):
            if self.colour(x, y) == colour and y <= bottom:
                begin = y if begin is None else begin
            elif begin is not None:
                found += [(begin, y)] if y - begin >= least else []
                begin = None
        return found

    def _runs(self, y: int, colour: str, least: int) -> Iterator[tuple[int, int]]:
        pixel = bytes.fromhex(colour[1:])[::-1]
        row = self.row(y)
        pattern = (pixel + b"\xff") * least  # Qt paints its windows opaque
        at = row.find(pattern)
        while at >= 0:
            if at % 4:
                at = row.find(pattern, at + 1)
                continue
            end = at
            while row[end : end + 3] == pixel:
                end += 4
            yield at // 4, end // 4
            at = row.find(pattern, end)


@dataclass(frozen=True, slots=True)
class Screen:
    """One virtual display with a window manager."""

    display: str
    file: Path
    more: dict[str, str] = field(default_factory=dict)  # for the environment of what is started on it

    def picture(self) -> Picture:
        return Picture(self.file.read_bytes())

    def hand(self, *words: object) -> str:
        """What `xdotool` says."""
        done = subprocess.run(
            ["xdotool", *map(str, words)], env=self.environment(), capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    def keys(self, *names: str) -> None:
        """Once a window has the keyboard: between two of them none has, and keys are lost."""
        until(lambda: self.hand("getwindowfocus", "getwindowname"), "a window with the keyboard")
        self.hand("key", "--delay", 30, *names)

    def click(self, x: int, y: int) -> None:
        self.hand("mousemove", x, y, "click", 1)

    def titles(self) -> list[str]:
        """Of the windows one can see."""
        seen = self.hand("search", "--onlyvisible", "--name", "Journeyman").split()
        return [self.hand("getwindowname", number) for number in seen]

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in NOT_GIVEN}
        return kept | {"DISPLAY": self.display, "QT_QPA_PLATFORM": "xcb", "NO_AT_BRIDGE": "1"} | self.more


@contextmanager
def opened(on: Screen, home: Path) -> Iterator["Program"]:
    """The program, ended at last however the test went."""
    program = Program(on, home)
    try:
        program.button()
        yield program
    finally:
        if program.process.poll() is None:
            program.kill()


@contextmanager
def screen(folder: Path, size: str = "1440x900") -> Iterator[Screen]:
    """A display with a number of its own, and its pixels in a file."""
    reading, writing = os.pipe()
    words = [
        "-displayfd",
        str(writing),
        "-fbdir",
        str(folder),
        "-screen",
        "0",
        f"{size}x24",
        "-nolisten",
        "tcp",
        "-noreset",
    ]
    server = subprocess.Popen(
        ["Xvfb", *words], pass_fds=(writing,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        os.close(writing)
        assert select.select([reading], [], [], BOUND_S)[0], "Xvfb does not start"
        with os.fdopen(reading) as told:  # the number and the end of its line come apart
            made = Screen(f":{told.readline().strip()}", folder / "Xvfb_screen0")
        desk = subprocess.Popen(
            ["openbox", "--sm-disable"], env=made.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            until(lambda: _managed(made), "openbox")
            made.hand("key", "shift")  # at the first of all openbox lets go of its own: alt+F4 would be lost
            yield made
        finally:
            desk.terminate()
            desk.wait(BOUND_S)
    finally:
        server.terminate()
        server.wait(BOUND_S)


def _managed(on: Screen) -> bool:
    words = ["xprop", "-root", "_NET_SUPPORTING_WM_CHECK"]
    done = subprocess.run(words, env=on.environment(), capture_output=True, text=True, check=False)
    return "window id" in done.stdout


class Program:
    """The real program on a screen, over a data folder."""

    def __init__(self, on: Screen, home: Path) -> None:
        self.screen, self.home = on, home
        self._said = home.parent / "stderr"
        with self._said.open("w") as file:
            self.process = subprocess.Popen(self._words(), cwd=ROOT, env=on.environment(), stderr=file)

    def _words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "app", "--home", str(self.home), *words]

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A second process on the same folder."""
        return subprocess.run(
            self._words(*words),
            cwd=ROOT,
            env=self.screen.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )

    def button(self, after: int = 0, above: int = 0) -> Area:
        """The first button in the accent colour at the right of `after` and below `above`."""

        def look() -> Area | None:
            assert self.process.poll() is None, self.complaints()
            areas = self.screen.picture().areas(LIGHT.accent.name())
            return next((area for area in areas if area.left >= after and area.top >= above), None)

        return until(look, "a button in the accent colour")

    def resting_button(self, after: int) -> Area:
        """As `button`, once what is found meanwhile, say servers, has moved it to its place."""
        return self._at_rest(lambda: self.button(after), "a button at rest")

    def card(self) -> Area:
        """The question's card, by its edge in the colour of waiting."""
        return until(lambda: self.screen.picture().edge(LIGHT.waiting.name()), "the question's card")

    def option(self, number: int) -> tuple[int, int]:
        """Where this option of the card can be clicked, once the card has come to rest."""

        def look() -> tuple[int, int] | None:
            card = self.card()
            ground = LIGHT.background.name()
            found = self.screen.picture().stretches(card.left + 20, card.top, card.bottom, ground, 18)
            if len(found) < number:
                return None
            top, bottom = found[number - 1]
            return card.left + 140, (top + bottom) // 2

        return self._at_rest(look, "the options at rest")

    def _at_rest(self, look: Callable[[], T | None], what: str) -> T:
        """The same thing at so many looks in a row."""
        before: list[T | None] = []

        def calm() -> T | None:
            before.append(look())
            return before[-1] if before[-REST:] == before[-1:] * REST else None

        return until(calm, what)

    def statuses(self) -> list[str]:
        """How each session stands, the newest first, as the file says."""
        try:
            reader = Reader(self.home / "journeyman.db")
        except Unreadable:
            return []
        try:
            return [row.status for row in reader.sessions()]
        except Unreadable:
            return []
        finally:
            reader.close()

    def comes_to(self, status: str) -> None:
        until(lambda: self.statuses()[:1] == [status], f"a session that is {status}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(BOUND_S)

    def ends(self) -> None:
        """The window was told to close: nothing stays behind, and nothing was complained of."""
        try:
            assert self.process.wait(CLOSES_S) == 0
        except subprocess.TimeoutExpired:
            shown = self.screen.titles()
            self.process.send_signal(signal.SIGABRT)
            self.process.wait(BOUND_S)
            stacks = "".join(file.read_text() for file in self.home.glob("*.log"))
            pytest.fail(f"it does not close, and shows {shown}:\n{self.complaints()}{stacks}")
        assert self.complaints() == ""
        assert (self.home / "crash.log").read_text() == ""
        assert not left_of(self.home)
        assert not self.screen.titles()

    def complaints(self) -> str:
        return "".join(line for line in self._said.read_text().splitlines(True) if BUS_LATE not in line)

    def moved_freely(self) -> None:
        """The window never stood still for long; `pytest -rP` shows what is short."""
        found = stalls(self.home)
        assert not [ms for ms in found if ms >= FROZEN_MS], (self.home / "stalls.log").read_text()
        sys.stdout.write(f"stalls over 100 ms: {found} ms\n")


def left_of(home: Path) -> list[str]:
    """Processes that name this folder, whoever started them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(home) in words and int(process.name) != os.getpid():
            found.append(words)
    return found
