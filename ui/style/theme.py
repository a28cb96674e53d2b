"""The theme of the window: color tokens, bundled fonts, palette and style sheet."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QWidget

RESOURCES: Final = Path(__file__).resolve().parents[2] / "resources"

TEXT_SIZE: Final = 13
MENU_ICON: Final = 16  # pixels; the size of an icon in a menu at a text size of 100%

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
        "permission": "waiting",
        "refused": "failed",
        "interrupted": "stopped",
    }
)

STATUS_TOKENS: Final = MappingProxyType(
    {
        "waiting": "waiting",
        "running": "accent",
        "pausing": "accent",
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
    """The color tokens of a theme. All painting uses these colors."""

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

    def color(self, token: str) -> QColor:
        color = getattr(self, token)
        if not isinstance(color, QColor):
            raise KeyError(token)
        return color

    def kind(self, kind: str) -> QColor:
        """Return the color for a kind of step. An unknown kind has the color of secondary text."""
        return self.color(KIND_TOKENS.get(kind, "second"))

    def status(self, status: str) -> QColor:
        return self.color(STATUS_TOKENS.get(status, "second"))


@dataclass(frozen=True, slots=True)
class Fonts:
    """The fonts of the window, scaled to the text size setting."""

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
    """The theme and the fonts with which a widget is painted."""

    theme: Theme
    fonts: Fonts

    def size(self, pixels: int) -> int:
        """Scale a length in pixels with the text size. Used for icons, chips and their spacing."""
        return round(pixels * self.fonts.text.pixelSize() / TEXT_SIZE)


def load_theme(name: str) -> Theme:
    """Load a bundled theme, such as `dark` or `light`."""
    with (RESOURCES / "themes" / f"{name}.toml").open("rb") as file:
        tokens = tomllib.load(file)
    colors = {token: QColor(value) for token, value in tokens["colors"].items()}
    return Theme(name=tokens["name"], dark=tokens["dark"], **colors)


def load_fonts(scale: float = 1.0) -> Fonts:
    """Register the bundled fonts with Qt and create the fonts that the window uses."""
    register_fonts()

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
def register_fonts() -> None:
    """Register the bundled font files, on the first call only, because Qt would keep and search each further copy."""
    for file in FONT_FILES:
        QFontDatabase.addApplicationFont(str(RESOURCES / "fonts" / file))


def apply_theme(app: QApplication, theme: Theme, fonts: Fonts | None = None) -> None:
    """Apply the Fusion style, the palette, the font and the style sheet. Call this again when the theme has changed."""
    if not app.styleSheet():  # on later calls, the style has already been set
        app.setStyle("Fusion")
    app.setPalette(palette(theme))
    app.setFont(fonts.text if fonts else _font("Inter", TEXT_SIZE, QFont.Weight.Normal))
    sheet = style_sheet(theme)
    if app.styleSheet() != sheet:  # setting a style sheet restyles every widget, and a new text size does not change it
        # Replacing a style sheet directly would restyle each widget once for each of its ancestors.
        app.setStyleSheet("")
        app.setStyleSheet(sheet)


def set_style_properties(widget: QWidget, **properties: object) -> None:
    """Set dynamic properties of a widget, to which the style sheet refers.

    The font is kept; restyling would reset it.
    """
    font = widget.font()
    for name, value in properties.items():
        widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)
    widget.setFont(font)


def style_sheet(theme: Theme) -> str:
    """Return `theme.qss` with each `{token}` replaced by the theme's color of this name.

    Only a style sheet can set the size of the icons in a menu. Hence, there is a rule for each size.
    """
    source = (RESOURCES / "theme.qss").read_text(encoding="utf-8")
    colored = re.sub(r"\{(\w+)\}", lambda match: theme.color(match[1]).name(), source)
    sizes = range(MENU_ICON // 2, 2 * MENU_ICON + 1)
    return colored + "".join(f'QMenu[icon_size="{size}"] {{ icon-size: {size}px; }}\n' for size in sizes)


def palette(theme: Theme) -> QPalette:
    """Return a QPalette with the theme's colors, for everything that the style sheet does not cover."""
    roles = QPalette.ColorRole
    colors = {
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
    result = QPalette()
    for role, color in colors.items():
        result.setColor(role, color)
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, theme.third)
    return result


def blend(over: QColor, under: QColor, share: float) -> QColor:
    """Return the color `over`, painted on `under` with the opacity `share` (0 to 1)."""
    under_share = 1.0 - share
    return QColor(
        round(over.red() * share + under.red() * under_share),
        round(over.green() * share + under.green() * under_share),
        round(over.blue() * share + under.blue() * under_share),
    )


def _exact(font: QFont) -> QFont:
    """Disable ligatures in a font, because `>=` must not look like a different character."""
    for feature in ("calt", "liga"):
        font.setFeature(QFont.Tag.fromString(feature), 0)
    return font


def _font(family: str, pixels: int, weight: QFont.Weight) -> QFont:
    font = QFont(family)
    font.setPixelSize(max(pixels, 1))
    font.setWeight(weight)
    # Full hinting would place the letters of the font Inter unevenly at small sizes.
    font.setHintingPreference(QFont.HintingPreference.PreferVerticalHinting)
    return font
