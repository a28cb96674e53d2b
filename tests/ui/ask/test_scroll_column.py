"""A permission card without room scrolls the call, and cuts off neither the scopes nor the buttons."""

import pytest
from PySide6.QtWidgets import QApplication, QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.ask.permissions import CHAIN, EDIT, LONG
from tests.ui.ask.questions import noon
from tests.ui.hands import click, find
from ui.ask.cards import PermissionCard
from ui.ask.pending_permission import PendingPermission
from ui.ask.security_delay import DELAY_MS
from ui.style.theme import Look, apply_theme, load_fonts
from ui.widgets.button import Button

SCOPES = ("once", "run", "folder", "always")


def show_card(
    qapp: QApplication, look: Look, qtbot: QtBot, pending: PendingPermission, *, scale: float, width: int, height: int
) -> PermissionCard:
    """Show a card at the bottom of a column of this size."""
    scaled = Look(look.theme, load_fonts(scale))
    apply_theme(qapp, scaled.theme, scaled.fonts)
    column = QWidget()
    qtbot.addWidget(column)
    column.resize(width, height)
    layout = QVBoxLayout(column)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addStretch(1)
    card = PermissionCard(scaled, [pending], clock=noon)
    card.setParent(column)
    layout.addWidget(card)
    column.show()
    card.fit(height)
    return card


def is_whole(button: Button) -> bool:
    return button.visibleRegion().boundingRect() == button.rect() and button.height() >= button.sizeHint().height()


@pytest.mark.parametrize("pending", [CHAIN, EDIT, LONG], ids=["chain", "edit", "long"])
@pytest.mark.parametrize("height", [900, 720, 640, 560])
@pytest.mark.parametrize("width", [700, 960])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_card_shows_all_scopes_and_buttons_or_only_a_bar(
    qapp: QApplication, look: Look, qtbot: QtBot, scale: float, width: int, height: int, pending: PendingPermission
) -> None:
    card = show_card(qapp, look, qtbot, pending, scale=scale, width=width, height=height)
    bar = find(card, QWidget, "consent.bar")
    parts = [find(card, Button, f"consent.scope.{scope}") for scope in SCOPES]
    parts += [find(card, Button, f"consent.{name}") for name in ("later", "deny", "change", "allow")]
    qtbot.waitUntil(lambda: bar.isVisible() or all(map(is_whole, parts)))
    if bar.isHidden():
        click(parts[2])
        parts.append(find(card, Button, "consent.pattern.1"))
        qtbot.waitUntil(lambda: all(map(is_whole, parts)))  # and no bar hides the choice


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_call_that_fits_again_need_not_be_scrolled(
    qapp: QApplication, look: Look, qtbot: QtBot, scale: float
) -> None:
    card = show_card(qapp, look, qtbot, CHAIN, scale=scale, width=960, height=1_600)
    allow, bar = find(card, Button, "consent.allow"), card.form.findChildren(QScrollArea)[0].verticalScrollBar()
    for height in (560, 200, 1_600):
        card.fit(height)
        qtbot.waitUntil(lambda: card.height() == card.sizeHint().height())
    qtbot.waitUntil(allow.isEnabled, timeout=5 * DELAY_MS)
    assert bar.maximum() == 0
