"""Fixtures for widget tests: the theme, applied to the application."""

from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from ui.style.theme import Look, apply_theme, load_fonts, load_theme
from ui.widgets import announce

THEMES = ("dark", "light")
HERE = Path(__file__).parent
# The offscreen platform logs this for every window shown, because it has no window manager.
NOT_A_FAULT = r"This plugin does not support (propagateSizeHints\(\)|raise\(\)|grabbing the keyboard)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore the log messages of the offscreen platform."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.qt_log_ignore(NOT_A_FAULT, extend=True))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "look" in metafunc.fixturenames and metafunc.definition.get_closest_marker("colors"):
        metafunc.parametrize("look", THEMES, indirect=True)


@pytest.fixture
def look(request: pytest.FixtureRequest, qapp: QApplication) -> Look:
    """One of the two themes, chosen by the name of the test; a widget has to work in both."""
    # Delete the closed widgets of previous tests, which would otherwise all be restyled.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    theme = getattr(request, "param", "") or THEMES[crc32(request.node.name.encode()) % len(THEMES)]
    made = Look(load_theme(theme), load_fonts())
    apply_theme(qapp, made.theme, made.fonts)
    return made


@pytest.fixture
def announcements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which every announcement for screen readers is added."""
    texts = list[str]()
    receiver = SimpleNamespace(updateAccessibility=lambda event: texts.append(event.message()))
    monkeypatch.setattr(announce, "QAccessible", receiver)
    return texts
