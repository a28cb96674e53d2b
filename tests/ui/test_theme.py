"""The tokens are complete, readable on every surface, and reach the application."""

from dataclasses import fields

import pytest
from PySide6.QtGui import QColor, QFontInfo
from PySide6.QtWidgets import QApplication, QListView, QWidget
from pytestqt.qtbot import QtBot

from ui.style.theme import (
    KIND_TOKENS,
    RESOURCES,
    STATUS_TOKENS,
    Fonts,
    Theme,
    apply_theme,
    load_fonts,
    load_theme,
    set_style_properties,
)
from ui.style.theme import style_sheet as filled
from ui.widgets.labels import label

SURFACES = ("background", "panel", "raised", "line", "strong_line", "selection", "chosen", "bubble")
COLORS = tuple(field.name for field in fields(Theme) if field.name not in {"name", "dark"})
HIGH = 7.0
SEEN = 3.0  # required contrast of what is not text
FAINT = {"third": 3.9, "stopped": 3.9}


def luminance(color: QColor) -> float:
    """Return the relative luminance as defined by WCAG 2."""

    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF())


def contrast(one: QColor, other: QColor) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture(params=["dark", "light", "contrast"])
def theme(request: pytest.FixtureRequest) -> Theme:
    return load_theme(str(request.param))


@pytest.mark.parametrize("surface", ["background", "panel", "selection"])
def test_text_is_readable(theme: Theme, surface: str) -> None:
    under = theme.color(surface)
    words = [token for token in COLORS if token not in SURFACES and token != "on_accent"]
    high = theme.name == "contrast"
    short = {
        token: round(contrast(theme.color(token), under), 2)
        for token in words
        if contrast(theme.color(token), under) < (HIGH if high else FAINT.get(token, 4.5))
    }
    assert not short


def test_text_on_filled_controls_is_readable(theme: Theme) -> None:
    least = HIGH if theme.name == "contrast" else 4.5
    assert contrast(theme.on_accent, theme.accent) >= least
    assert contrast(theme.text, theme.bubble) >= least
    assert contrast(theme.second, theme.raised) >= least
    assert contrast(theme.failed, theme.raised) >= least


def test_borders_rings_and_selected_rows_are_visible_at_high_contrast() -> None:
    theme = load_theme("contrast")
    edges = (theme.line, theme.strong_line, theme.chosen, theme.accent)
    grounds = (theme.background, theme.panel, theme.raised)
    assert min(contrast(edge, ground) for edge in edges for ground in grounds) >= SEEN
    assert contrast(theme.accent, theme.strong_line) >= SEEN, "a focus ring differs from the edge that it replaces"
    assert contrast(theme.chosen, theme.selection) >= SEEN


def test_every_kind_and_status_has_a_color(theme: Theme) -> None:
    assert all(theme.kind(kind).isValid() for kind in KIND_TOKENS)
    assert all(theme.status(status).isValid() for status in STATUS_TOKENS)
    assert theme.kind("files") == theme.done
    assert theme.kind("something new") == theme.second
    assert theme.status("waiting") == theme.waiting


def test_the_style_sheet_has_no_unfilled_placeholder(theme: Theme) -> None:
    sheet = filled(theme)
    assert theme.accent.name() in sheet
    assert not [token for token in COLORS if "{" + token + "}" in sheet]


def test_unknown_token_is_an_error(theme: Theme) -> None:
    with pytest.raises(KeyError):
        theme.color("name")


def test_bundled_fonts_are_the_ones_used(qapp: QApplication) -> None:
    fonts = load_fonts()
    assert QFontInfo(fonts.text).family() == "Inter"
    assert QFontInfo(fonts.title).weight() == 600
    assert QFontInfo(fonts.mono).family() == "JetBrains Mono"


def test_fonts_follow_the_scale(qapp: QApplication) -> None:
    def sizes(fonts: Fonts) -> tuple[int, int]:
        return fonts.text.pixelSize(), fonts.title.pixelSize()

    assert sizes(load_fonts()) == (13, 16)
    assert sizes(load_fonts(2.0)) == (26, 32)


def test_style_properties_do_not_change_the_text_size(qapp: QApplication, qtbot: QtBot) -> None:
    apply_theme(qapp, load_theme("dark"))
    around = QWidget()
    part = label("words", load_fonts().second, "third")
    part.setParent(around)
    qtbot.addWidget(around)
    set_style_properties(part, tone="second")
    part.setFont(load_fonts(2.0).second)
    set_style_properties(part, tone="failed")
    assert part.font().pixelSize() == 24
    assert part.palette().color(part.foregroundRole()) == load_theme("dark").failed


def test_fonts_are_small_and_licensed() -> None:
    files = list((RESOURCES / "fonts").iterdir())
    assert all(file.stat().st_size < 1_000_000 for file in files)
    assert {"OFL-Inter.txt", "OFL-JetBrainsMono.txt"} <= {file.name for file in files}


def test_the_theme_can_change_at_run_time(qapp: QApplication) -> None:
    for name in ("dark", "light", "dark"):
        theme = load_theme(name)
        apply_theme(qapp, theme)
        assert qapp.palette().window().color() == theme.background
        assert theme.panel.name() in qapp.styleSheet()


def test_a_list_that_is_its_own_window_has_a_background(qapp: QApplication, qtbot: QtBot, theme: Theme) -> None:
    """Such as the completions of a file dialog, which Qt shows in a list without a parent."""
    apply_theme(qapp, theme, load_fonts())
    popup = QListView()
    qtbot.addWidget(popup)
    popup.resize(80, 40)
    popup.show()
    assert popup.grab().toImage().pixelColor(40, 20) == theme.raised
