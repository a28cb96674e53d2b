"""What end-to-end tests share."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.screen import Screen, screen
from tests.e2e.terminal import Terminal
from tests.e2e.tree import Bus, bus

OF_SCREEN = ("Xvfb", "openbox", "xdotool", "xprop")
NO_SCREEN = "needs a virtual display: packaging/dev.py test installs one"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A shell in an empty folder; what it started is ended."""
    opened = Terminal(tmp_path)
    # A shell that starts tests in the background makes its children deaf to Ctrl+C; a handler of ours is not inherited.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield opened
    signal.signal(signal.SIGINT, before)
    opened.close()


@pytest.fixture
def display(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Screen]:
    """A screen of its own. For a test that asks for `told` as well, programs on it tell the bus what they show."""
    if not all(map(shutil.which, OF_SCREEN)):
        pytest.skip(NO_SCREEN)
    folder = tmp_path / "screen"
    folder.mkdir()
    with screen(folder) as made:
        yield request.getfixturevalue("told").screen(made) if "told" in request.fixturenames else made


@pytest.fixture
def told() -> Iterator[Bus]:
    """What a screen reader listens to."""
    if not shutil.which("dbus-daemon"):
        pytest.skip(NO_SCREEN)
    with bus() as made:
        yield made
