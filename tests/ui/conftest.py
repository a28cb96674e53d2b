"""What every test of a widget needs: the look, dressed once."""

import pytest
from PySide6.QtWidgets import QApplication

from ui.theme import Look, dress, load_fonts, load_theme


@pytest.fixture(params=["dark", "light"])
def look(request: pytest.FixtureRequest, qapp: QApplication) -> Look:
    """Both themes: a widget that works in one has to work in the other."""
    made = Look(load_theme(str(request.param)), load_fonts())
    dress(qapp, made.theme, made.fonts)
    return made
