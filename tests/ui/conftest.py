"""What every test of a widget needs: the look, dressed once."""

from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from ui.theme import Look, dress, load_fonts, load_theme

HERE = Path(__file__).parent
# The platform without a screen says so for every window that is shown; it has no window manager to tell sizes to.
NOT_A_FAULT = r"This plugin does not support (propagateSizeHints\(\)|raise\(\)|grabbing the keyboard)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let widgets be shown on the platform without a screen."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.qt_log_ignore(NOT_A_FAULT, extend=True))


@pytest.fixture(params=["dark", "light"])
def look(request: pytest.FixtureRequest, qapp: QApplication) -> Look:
    """Both themes: a widget that works in one has to work in the other."""
    # Closed widgets of former tests would each be dressed anew: nobody ran the loop that deletes them.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    made = Look(load_theme(str(request.param)), load_fonts())
    dress(qapp, made.theme, made.fonts)
    return made
