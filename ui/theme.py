"""The look of the window: colour tokens, bundled fonts, and dressing the application in them once."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QWidget

RESOURCES: Final = Path(__file__).resolve().parent.parent / "resources"

TEXT_SIZE: Final = 13

FONT_FILES: Final = (
    "Inter-Regular.ttf",
    "Inter-Medium.ttf",
    "Inter-SemiBold.ttf",
    "Inter-Italic.ttf",
    "JetBrainsMono-Regular.ttf",
    "JetBrainsMono-Bold.ttf",
)

KIND_TOKENS: Final = MappingProxyType(
    {
        "thinking": "thinking",
        "reply": "thinking",
        "command": "command",
        "agent": "agent",
        "network": "network",
        "search": "network",
        "read": "done",
        "write": "done",
        "files": "done",
        "memory": "learned",
        "skill": "learned",
        "question": "waiting",
        "consent": "waiting",
        "refused": "failed",
        "interrupted": "stopped",
    }
)

STATUS_TOKENS: Final = MappingProxyType(
    {
        "waiting": "waiting",
        "running": "accent",
        "done": "done",
        "failed": "failed",
        "stopped": "stopped",
        "paused": "stopped",
        "interrupted": "stopped",
        "limit": "stopped",
        "unknown": "stopped",
    }
)


@dataclass(frozen=True, slots=True)
class Theme:
    """The colour tokens of one theme; anything painted takes its colours from here."""

    name: str
    dark: bool
    background: QColor
    panel: QColor
    raised: QColor
    line: QColor
    strong_line: QColor
    text: QColor
    second: QColor
    third: QColor
    selection: QColor
    chosen: QColor
    accent: QColor
    on_accent: QColor
    bubble: QColor
    waiting: QColor
    done: QColor
    failed: QColor
    stopped: QColor
    learned: QColor
    thinking: QColor
    command: QColor
    agent: QColor
    network: QColor

    def colour(self, token: str) -> QColor:
        found = getattr(self, token)
        if not isinstance(found, QColor):
            raise KeyError(token)
        return found

    def kind(self, kind: str) -> QColor:
        """The colour of a step kind; a kind without one of its own reads as quiet text."""
        return self.colour(KIND_TOKENS.get(kind, "second"))

    def status(self, status: str) -> QColor:
        return self.colour(STATUS_TOKENS.get(status, "second"))


@dataclass(frozen=True, slots=True)
class Fonts:
    """The fonts of the window, already scaled to the person's wish."""

    text: QFont
    strong: QFont
    bold: QFont
    title: QFont
    heading: QFont
    second: QFont
    label: QFont
    caption: QFont
    mono: QFont


@dataclass(frozen=True, slots=True)
class Look:
    """Theme and fonts together: what a widget needs to paint itself."""

    theme: Theme
    fonts: Fonts

    def size(self, pixels: int) -> int:
        """A length that grows with the letters: icons, chips and the room beside them."""
        return round(pixels * self.fonts.text.pixelSize() / TEXT_SIZE)


def load_theme(name: str) -> Theme:
    """Read `dark` or `light` from the bundled token files."""
    with (RESOURCES / "themes" / f"{name}.toml").open("rb") as file:
        tokens = tomllib.load(file)
    colours = {token: QColor(value) for token, value in tokens["colours"].items()}
    return Theme(name=tokens["name"], dark=tokens["dark"], **colours)


def load_fonts(scale: float = 1.0) -> Fonts:
    """Make the bundled fonts known to Qt and build the few sizes the window uses."""
    make_known()

    def inter(pixels: int, weight: QFont.Weight) -> QFont:
        return _font("Inter", round(pixels * scale), weight)

    normal, medium, semibold = QFont.Weight.Normal, QFont.Weight.Medium, QFont.Weight.DemiBold
    return Fonts(
        text=inter(TEXT_SIZE, normal),
        strong=inter(TEXT_SIZE, medium),
        bold=inter(TEXT_SIZE, semibold),
        title=inter(16, semibold),
        heading=inter(20, semibold),
        second=inter(12, normal),
        label=inter(11, semibold),
        caption=inter(11, normal),
        mono=_exact(_font("JetBrains Mono", round(12 * scale), normal)),
    )


@cache
def make_known() -> None:
    """Register the bundled files, once: Qt would keep each further copy and look through all of them."""
    for file in FONT_FILES:
        QFontDatabase.addApplicationFont(str(RESOURCES / "fonts" / file))


def dress(app: QApplication, theme: Theme, fonts: Fonts | None = None) -> None:
    """Give the application Fusion, our palette and the one style sheet; call again when the look changes."""
    if not app.styleSheet():  # a style sheet stays on top of the style, which need not be made anew
        app.setStyle("Fusion")
    app.setPalette(palette(theme))
    app.setFont(fonts.text if fonts else _font("Inter", TEXT_SIZE, QFont.Weight.Normal))
    sheet = style_sheet(theme)
    if app.styleSheet() != sheet:  # Qt would look at every widget anew; the size of letters is none of its business
        app.setStyleSheet("")  # of one that is worn Qt dresses each widget again for every one that it stands in
        app.setStyleSheet(sheet)


def wear(widget: QWidget, **properties: object) -> None:
    """Give it properties that the style sheet tells parts apart by; the style would put its font back to its first."""
    font = widget.font()
    for name, value in properties.items():
        widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.setFont(font)


def style_sheet(theme: Theme) -> str:
    """`theme.qss` with each `{token}` replaced by the theme's colour."""
    source = (RESOURCES / "theme.qss").read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\}", lambda place: theme.colour(place[1]).name(), source)


def palette(theme: Theme) -> QPalette:
    """Qt's colour roles from our tokens, for whatever the style sheet does not reach."""
    roles = QPalette.ColorRole
    colours = {
        roles.Window: theme.background,
        roles.WindowText: theme.text,
        roles.Base: theme.background,
        roles.AlternateBase: theme.panel,
        roles.Text: theme.text,
        roles.PlaceholderText: theme.third,
        roles.Button: theme.raised,
        roles.ButtonText: theme.text,
        roles.BrightText: theme.failed,
        roles.ToolTipBase: theme.raised,
        roles.ToolTipText: theme.text,
        roles.Highlight: theme.bubble,
        roles.HighlightedText: theme.text,
        roles.Link: theme.accent,
        roles.LinkVisited: theme.accent,
        roles.Light: theme.raised,
        roles.Midlight: theme.line,
        roles.Mid: theme.line,
        roles.Dark: theme.strong_line,
        roles.Shadow: theme.strong_line,
    }
    made = QPalette()
    for role, colour in colours.items():
        made.setColor(role, colour)
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, role, theme.third)
    return made


def blend(over: QColor, under: QColor, share: float) -> QColor:
    """`share` of one colour laid over another: the quiet fills behind pills and badges."""
    rest = 1.0 - share
    return QColor(
        round(over.red() * share + under.red() * rest),
        round(over.green() * share + under.green() * rest),
        round(over.blue() * share + under.blue() * rest),
    )


def _exact(font: QFont) -> QFont:
    """Without ligatures: `>=` must not look like another sign."""
    for feature in ("calt", "liga"):
        font.setFeature(QFont.Tag.fromString(feature), 0)
    return font


def _font(family: str, pixels: int, weight: QFont.Weight) -> QFont:
    font = QFont(family)
    font.setPixelSize(max(pixels, 1))
    font.setWeight(weight)
    # Full hinting would set the letters of a small Inter unevenly apart.
    font.setHintingPreference(QFont.HintingPreference.PreferVerticalHinting)
    return font
