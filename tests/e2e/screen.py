"""Runs the real program on a private virtual screen, reads its pixels, and sends it mouse and keyboard input."""

import os
import re
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

from core.store.reader import Reader, ReadError
from tests.e2e.process_health import stalls
from ui.style.theme import load_theme

ROOT = Path(__file__).parents[2]
REMOVED_VARIABLES = {
    "WAYLAND_DISPLAY",
    "QT_QPA_PLATFORM",
    "PYTHONDONTWRITEBYTECODE",
}  # removed, so that the program starts as for a user
BOUND_S = 60.0  # generous, for a busy machine
CLOSES_S = 30.0
BUS_WARNING = "QSpiApplication::"  # Qt warning about a slow accessibility bus; the key press still counts
LIGHT = load_theme("light")
PAUSE = threading.Event()

T = TypeVar("T")


def wait_until(look: Callable[[], T | None], what: str, bound: float = BOUND_S) -> T:
    """Wait until `look` returns a truthy value and return it; fail with `what` after `bound` seconds."""
    end = time.monotonic() + bound
    while not (found := look()):
        assert time.monotonic() < end, f"{what}: not within {bound:g} s"
        PAUSE.wait(0.03)
    return found


STABLE_READS = 8  # equal results in a row, at least 30 ms apart, that count as "at rest"


class Area(NamedTuple):
    left: int
    top: int
    right: int
    bottom: int

    @property
    def middle(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2


class Screenshot:
    """The pixels of the screen, read from an XWD file: four bytes each, blue first."""

    def __init__(self, file: bytes) -> None:
        head = struct.unpack(">25I", file[:100])
        self.width, self.height, self._line = head[4], head[5], head[12]
        self._data = file[head[0] + head[19] * 12 :]

    def save(self, path: Path) -> None:
        """Save the picture as an image file."""
        from PySide6.QtGui import QImage

        QImage(self._data, self.width, self.height, self._line, QImage.Format.Format_RGB32).save(str(path))

    def row(self, y: int) -> bytes:
        return self._data[y * self._line : y * self._line + self.width * 4]

    def color(self, x: int, y: int) -> str:
        blue, green, red = self.row(y)[x * 4 : x * 4 + 3]
        return f"#{red:02x}{green:02x}{blue:02x}"

    def areas(self, color: str, least: int = 20) -> list[Area]:
        """Return the areas of this color with at least `least` pixels in each direction, from top to bottom."""
        found: list[list[int]] = []
        for y in range(0, self.height, 2):
            for left, right in self._runs(y, color, least):
                near = next((a for a in found if a[0] <= right and left <= a[2] and y - a[3] <= 20), None)
                if near is None:
                    found.append([left, y, right, y])
                else:
                    near[:] = [min(near[0], left), near[1], max(near[2], right), y]
        return [Area(*area) for area in found if area[3] - area[1] >= least]

    def edge(self, color: str, least: int = 60) -> Area | None:
        """Return the longest vertical line of this color that is three pixels wide."""
        lines: dict[int, list[int]] = {}
        for y in range(self.height):
            for left, right in self._runs(y, color, 3):
                if right - left == 3:
                    lines.setdefault(left, []).append(y)
        x, rows = max(lines.items(), key=lambda line: len(line[1]), default=(0, []))
        return Area(x, rows[0], x + 3, rows[-1]) if len(rows) >= least else None

    def stretches(self, x: int, top: int, bottom: int, color: str, least: int) -> list[tuple[int, int]]:
        """Return the top and bottom of each stretch of this color in the column `x`."""
        found: list[tuple[int, int]] = []
        begin = None
        for y in range(top, bottom + 2):
            if self.color(x, y) == color and y <= bottom:
                begin = y if begin is None else begin
            elif begin is not None:
                found += [(begin, y)] if y - begin >= least else []
                begin = None
        return found

    def _runs(self, y: int, color: str, least: int) -> Iterator[tuple[int, int]]:
        pixel = bytes.fromhex(color[1:])[::-1]
        row = self.row(y)
        pattern = (pixel + b"\xff") * least  # Qt windows are opaque
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
    """A virtual display with a window manager."""

    display: str
    framebuffer: Path
    extra_variables: dict[str, str] = field(
        default_factory=dict
    )  # extra environment variables of programs started on it

    def screenshot(self) -> Screenshot:
        return Screenshot(self.framebuffer.read_bytes())

    def xdotool(self, *words: object) -> str:
        """Run `xdotool` and return its output."""
        done = subprocess.run(
            ["xdotool", *map(str, words)], env=self.environment(), capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    def keys(self, *names: str) -> None:
        """Press keys once a window has the focus; without a focused window they would be lost."""
        wait_until(lambda: self.xdotool("getwindowfocus", "getwindowname"), "a window with the keyboard")
        self.xdotool("key", "--delay", 30, *names)

    def click(self, x: int, y: int) -> None:
        self.xdotool("mousemove", x, y, "click", 1)

    def titles(self) -> list[str]:
        """Return the titles of the visible windows."""
        seen = self.xdotool("search", "--onlyvisible", "--name", "Journeyman").split()
        return [self.xdotool("getwindowname", number) for number in seen]

    def waiting_in_title(self) -> int | None:
        """Return how many things wait for the user, as the title of the only window states; None without one."""
        if len(titles := self.titles()) != 1:
            return None
        return int(found[1]) if (found := re.match(r"\((\d+)\) ", titles[0])) else 0

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in REMOVED_VARIABLES}
        return kept | {"DISPLAY": self.display, "QT_QPA_PLATFORM": "xcb", "NO_AT_BRIDGE": "1"} | self.extra_variables


@contextmanager
def running_program(on: Screen, home: Path) -> Iterator["Program"]:
    """Start the program, and kill it at the end if it still runs."""
    program = Program(on, home)
    try:
        program.wait_for_button()
        yield program
    finally:
        if program.process.poll() is None:
            program.kill()


@contextmanager
def virtual_screen(folder: Path, size: str = "1440x900") -> Iterator[Screen]:
    """Start a virtual display with a free number whose pixels are in a file."""
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
        assert select.select([reading], [], [], BOUND_S)[0], "Xvfb did not start"
        with os.fdopen(reading) as address:  # the number and its line end arrive separately
            made = Screen(f":{address.readline().strip()}", folder / "Xvfb_screen0")
        desk = subprocess.Popen(
            ["openbox", "--sm-disable"], env=made.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_until(lambda: _managed(made), "openbox")
            made.xdotool("key", "shift")  # openbox drops its key grabs at the first key press, so alt+F4 would be lost
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
    """The real program on a screen, with a data folder."""

    def __init__(self, on: Screen, home: Path) -> None:
        self.screen, self.home = on, home
        self._said = home.parent / "stderr"
        with self._said.open("w") as file:
            self.process = subprocess.Popen(self._words(), cwd=ROOT, env=on.environment(), stderr=file)

    def _words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "app", "--data-dir", str(self.home), *words]

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a second process on the same data folder."""
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

    def wait_for_button(self, after: int = 0, above: int = 0) -> Area:
        """Wait for the first button in the accent color to the right of `after` and below `above`."""

        def look() -> Area | None:
            assert self.process.poll() is None, self.stderr_text()
            areas = self.screen.screenshot().areas(LIGHT.accent.name())
            return next((area for area in areas if area.left >= after and area.top >= above), None)

        return wait_until(look, "a button in the accent color")

    def wait_for_still_button(self, after: int) -> Area:
        """Like `wait_for_button`, but wait until it no longer moves, for example because providers were found."""
        return self._at_rest(lambda: self.wait_for_button(after), "a button at rest")

    def start_demo(self) -> None:
        """Start the demo from the command palette, once the start page no longer changes."""
        self.wait_for_still_button(after=self.wait_for_button().right)
        self.screen.keys("ctrl+k", *"demo", "Return")

    def wait_for_card(self) -> Area:
        """Wait for the question card, recognized by its edge in the color of waiting."""
        return wait_until(lambda: self.screen.screenshot().edge(LIGHT.waiting.name()), "the question's card")

    def wait_for_option(self, number: int) -> tuple[int, int]:
        """Return the position of an option of the card, once the card no longer moves."""

        def look() -> tuple[int, int] | None:
            card = self.wait_for_card()
            ground = LIGHT.background.name()
            found = self.screen.screenshot().stretches(card.left + 20, card.top, card.bottom, ground, 18)
            if len(found) < number:
                return None
            top, bottom = found[number - 1]
            return card.left + 140, (top + bottom) // 2

        return self._at_rest(look, "the options at rest")

    def _at_rest(self, look: Callable[[], T | None], what: str) -> T:
        """Wait until `look` returns the same value REST times in a row."""
        before: list[T | None] = []

        def calm() -> T | None:
            before.append(look())
            return before[-1] if before[-STABLE_READS:] == before[-1:] * STABLE_READS else None

        return wait_until(calm, what)

    def statuses(self) -> list[str]:
        """Return the status of each session in the data file, newest first."""
        try:
            reader = Reader(self.home / "journeyman.db")
        except ReadError:
            return []
        try:
            return [row.status for row in reader.sessions()]
        except ReadError:
            return []
        finally:
            reader.close()

    def wait_for_status(self, status: str) -> None:
        wait_until(lambda: self.statuses()[:1] == [status], f"a session that is {status}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(BOUND_S)

    def check_clean_exit(self) -> None:
        """Wait for the exit after a close request; check for errors, left processes and windows."""
        try:
            assert self.process.wait(CLOSES_S) == 0
        except subprocess.TimeoutExpired:
            shown = self.screen.titles()
            self.process.send_signal(signal.SIGABRT)
            self.process.wait(BOUND_S)
            stacks = "".join(file.read_text() for file in self.home.glob("*.log"))
            pytest.fail(f"the program does not exit and shows {shown}:\n{self.stderr_text()}{stacks}")
        assert self.stderr_text() == ""
        assert (self.home / "crash.log").read_text() == ""
        assert not leftover_processes(self.home)
        assert not self.screen.titles()

    def stderr_text(self) -> str:
        return "".join(line for line in self._said.read_text().splitlines(True) if BUS_WARNING not in line)

    def report_stalls(self) -> None:
        """Print the stalls, which `pytest -rP` shows; `dev.py test --walk` and the soak test count them."""
        sys.stdout.write(f"stalls over 100 ms: {stalls(self.home)} ms\n")


def leftover_processes(home: Path) -> list[str]:
    """Return the command lines of all processes that mention this folder or work in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            works_in = (process / "cwd").readlink()
        except OSError:
            continue
        if (str(home) in words or works_in.is_relative_to(home)) and int(process.name) != os.getpid():
            found.append(words)
    return found
