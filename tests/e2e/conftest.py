"""Fixtures of the end-to-end tests."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.accessibility import AccessibilityBus, private_bus
from tests.e2e.screen import Screen, virtual_screen
from tests.e2e.terminal import Terminal

OF_SCREEN = ("Xvfb", "openbox", "xdotool", "xprop")
NO_SCREEN = "needs a virtual display, which `packaging/dev.py test` installs"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A shell in an empty folder; processes it started are killed afterwards."""
    opened = Terminal(tmp_path)
    # A shell that runs tests in the background makes its children ignore SIGINT. Install a handler: unlike an ignored
    # signal, it is not inherited by child processes.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield opened
    signal.signal(signal.SIGINT, before)
    opened.close()


@pytest.fixture
def display(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Screen]:
    """A private virtual screen. Programs on it are accessible if the test uses `accessibility_bus`."""
    if not all(map(shutil.which, OF_SCREEN)):
        pytest.skip(NO_SCREEN)
    folder = tmp_path / "screen"
    folder.mkdir()
    with virtual_screen(folder) as made:
        yield (
            request.getfixturevalue("accessibility_bus").connect_screen(made)
            if "accessibility_bus" in request.fixturenames
            else made
        )


@pytest.fixture
def accessibility_bus() -> Iterator[AccessibilityBus]:
    """A private accessibility bus."""
    if not shutil.which("dbus-daemon"):
        pytest.skip(NO_SCREEN)
    with private_bus() as made:
        yield made
