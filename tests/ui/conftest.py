"""What every test of a widget needs: the look, dressed once."""

from pathlib import Path
from zlib import crc32

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from ui.theme import Look, dress, load_fonts, load_theme

THEMES = ("dark", "light")
HERE = Path(__file__).parent
# The platform without a screen says so for every window that is shown; it has no window manager to tell sizes to.
NOT_A_FAULT = r"This plugin does not support (propagateSizeHints\(\)|raise\(\)|grabbing the keyboard)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let widgets be shown on the platform without a screen."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.qt_log_ignore(NOT_A_FAULT, extend=True))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "look" in metafunc.fixturenames and metafunc.definition.get_closest_marker("colours"):
        metafunc.parametrize("look", THEMES, indirect=True)


@pytest.fixture
def look(request: pytest.FixtureRequest, qapp: QApplication) -> Look:
    """One of the themes, each test its own: a widget has to work in both."""
    # Closed widgets of former tests would each be dressed anew: nobody ran the loop that deletes them.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    theme = getattr(request, "param", "") or THEMES[crc32(request.node.name.encode()) % len(THEMES)]
    made = Look(load_theme(theme), load_fonts())
    dress(qapp, made.theme, made.fonts)
    return made
