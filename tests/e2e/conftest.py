"""What end-to-end tests share."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A shell in an empty folder; what it started is ended."""
    opened = Terminal(tmp_path)
    # A shell that starts tests in the background makes its children deaf to Ctrl+C; a handler of ours is not inherited.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield opened
    signal.signal(signal.SIGINT, before)
    opened.close()
