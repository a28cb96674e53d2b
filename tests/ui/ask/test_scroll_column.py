"""A permission card without room scrolls the call, and cuts off neither the scopes nor the buttons."""

import pytest
from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.ask.permissions import CHAIN, EDIT, FETCH, LONG, command
from tests.ui.ask.questions import noon
from tests.ui.hands import click, find, press
from ui.ask import security_delay
from ui.ask.cards import PermissionCard
from ui.ask.full_text import FullTextView
from ui.ask.pending_permission import PendingPermission
from ui.ask.security_delay import DELAY_MS
from ui.style.theme import Look, apply_theme, load_fonts
from ui.widgets.button import Button
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.scroll_column import ScrollColumn

LINES = command("\n".join(f"echo {n}" for n in range(20)), patterns=("echo *",))
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


class ResizeCounter(QObject):
    """Counts the resize events of a widget."""

    def __init__(self, watched: QWidget) -> None:
        super().__init__(watched)
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Resize
        return super().eventFilter(watched, event)


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


@pytest.mark.parametrize("pending", [CHAIN, EDIT, FETCH], ids=["chain", "edit", "fetch"])
@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0])
def test_allow_is_disabled_only_with_a_visible_reason_whatever_the_height(
    qapp: QApplication,
    look: Look,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    scale: float,
    pending: PendingPermission,
) -> None:
    monkeypatch.setattr(security_delay, "DELAY_MS", 1)  # it is waited for at each height
    card = show_card(qapp, look, qtbot, pending, scale=scale, width=700, height=1_600)
    column, form = card.window(), card.form
    allow, hint = find(card, Button, "consent.allow"), find(card, QWidget, "consent.rest")
    area = form.findChildren(FittingScrollArea)[0]
    bar = area.verticalScrollBar()
    for height in range(330, 1_000, 23):
        form.show_request(pending)  # it must be read again
        column.resize(700, height)
        card.fit(height)
        if card.form.isVisible():
            qtbot.waitUntil(lambda: form.delay.has_elapsed)
            qtbot.waitUntil(lambda: allow.isEnabled() != hint.isVisible())
            assert hint.isVisible() == (bar.maximum() > 0), (height, bar.maximum())
            assert (bar.maximum() > 0) == (area.heightForWidth(area.width()) > area.height()), height


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Return])
def test_the_reason_why_allow_is_disabled_scrolls_by_a_page(
    qapp: QApplication, look: Look, qtbot: QtBot, key: Qt.Key
) -> None:
    card = show_card(qapp, look, qtbot, LINES, scale=1.0, width=700, height=700)
    form = card.form
    allow, hint = find(card, Button, "consent.allow"), find(card, Button, "consent.rest")
    bar = form.findChildren(FittingScrollArea)[0].verticalScrollBar()
    qtbot.waitUntil(lambda: form.delay.has_elapsed and hint.isVisible(), timeout=5 * DELAY_MS)
    find(card, FullTextView, "consent.text").setFocus()
    press(card.window().focusWidget(), Qt.Key.Key_Tab)
    assert card.window().focusWidget() is hint and not allow.isEnabled()
    text = hint.text()
    press(hint, key)
    assert bar.value() == min(bar.pageStep(), bar.maximum()) and hint.accessibleName() == hint.text() != text
    with qtbot.assertNotEmitted(card.allowed):
        for _ in range(20):  # at the end, the focus does not move to a button, which the next press would click
            press(card.window().focusWidget(), key)
    assert bar.value() == bar.maximum() and not hint.isVisible() and card.window().focusWidget() is form
    assert allow.isEnabled()


def test_a_card_settles_when_its_height_is_just_enough_without_the_hint(
    qapp: QApplication, look: Look, qtbot: QtBot
) -> None:
    """A hint that took height would have to be shown and hidden again without end."""
    card = show_card(qapp, look, qtbot, LINES, scale=1.0, width=700, height=1_600)
    hint = find(card, QWidget, "consent.rest")
    area = card.form.findChildren(FittingScrollArea)[0]
    qtbot.waitUntil(lambda: area.height() == area.heightForWidth(area.width()))
    enough = card.height()
    for missing in (0, 1, hint.sizeHint().height() // 2, hint.sizeHint().height() + 1):
        card.form.show_request(LINES)
        card.setMaximumHeight(enough - missing)
        qtbot.waitUntil(lambda: card.height() == enough - missing)  # noqa: B023 - awaited in the loop
        qtbot.waitUntil(lambda: hint.isVisible() == bool(missing))  # noqa: B023 - awaited in the loop
        resizes = ResizeCounter(area)
        idle = QTimer(card, interval=0)
        with qtbot.waitSignals([idle.timeout] * 20):
            idle.start()
        idle.stop()
        assert resizes.count == 0 and hint.isVisible() == bool(missing)


def test_the_margins_of_an_empty_layout_are_part_of_a_column(look: Look, qtbot: QtBot) -> None:
    window, content, tall = QWidget(), QWidget(), QWidget()
    qtbot.addWidget(window)
    tall.setFixedHeight(300)
    content_layout = QVBoxLayout(content)
    content_layout.setContentsMargins(0, 0, 0, 0)
    content_layout.addWidget(tall)
    area = FittingScrollArea(content)
    column = ScrollColumn(window, area, spacing=7)
    empty = QVBoxLayout()
    empty.setContentsMargins(0, 4, 0, 8)
    hidden = QLabel("hidden")
    hidden.hide()
    empty.addWidget(hidden)
    column.addLayout(empty)
    button = QPushButton("Allow")
    button.setFixedHeight(30)
    column.addWidget(button)
    assert column.totalHeightForWidth(400) == 300 + 4 + 8 + 7 + 30
    assert column.least_height(400) == column.totalHeightForWidth(400) - 300 + area.minimumSizeHint().height()
    window.resize(400, 200)
    window.show()
    qtbot.waitUntil(lambda: area.height() == 200 - 4 - 8 - 7 - 30)
    assert button.geometry().bottom() == 199
