"""Shows the output of a command as a terminal does, with colors that are readable in the current theme."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from ui.style.contrast import readable
from ui.style.theme import Look, Theme
from ui.text.terminal_text import Line, RgbColor, TerminalText, TextStyle

MAX_LINES: Final = 10_000
MARGIN: Final = 12  # pixels
MIN_CONTRAST: Final = 4.5
"""The contrast ratio that the Web Content Accessibility Guidelines require of text (level AA)."""
THEME_COLORS: Final = (
    "third",  # black, as the faintest text
    "failed",  # red
    "done",  # green
    "waiting",  # yellow
    "accent",  # blue
    "learned",  # magenta
    "network",  # cyan
    "text",  # white, as normal text
)
"""The color of the theme for each of the eight ANSI colors, in their order.

The theme names its colors after what they mean elsewhere in the window; here only their hue counts. Black or white
would be invisible on the background of a theme, so the faintest and the normal color of text replace them.
"""
# The other colors of the 256-color palette, as xterm defines them.
FIRST_CUBE_COLOR: Final = 16
FIRST_GRAY: Final = 232
CUBE_LEVELS: Final = (0, 95, 135, 175, 215, 255)
"""The levels that red, green and blue can have in the 6 x 6 x 6 color cube."""
DARKEST_GRAY: Final = 8
GRAY_STEP: Final = 10


class TerminalView(QPlainTextEdit):
    """A read-only text of at most `MAX_LINES` lines. While its end is visible, it scrolls as text is appended."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._parser = TerminalText()
        self._formats: dict[TextStyle, QTextCharFormat] = {}
        self.setObjectName("terminal.output")
        self.setAccessibleName(self.tr("Output"))
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setProperty("bare", True)  # The style sheet then omits the border and background of an input field.
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUndoRedoEnabled(False)
        self.setMaximumBlockCount(MAX_LINES)
        self.setFont(look.fonts.mono)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(MARGIN)

    def clear_output(self) -> None:
        self.clear()
        self._parser = TerminalText()

    def append_output(self, text: str) -> None:
        """Append a piece of output. It may continue or overwrite the last line."""
        scroll_bar = self.verticalScrollBar()
        was_at_end = scroll_bar.value() >= scroll_bar.maximum()
        completed_lines = self._parser.feed(text)
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        _select_last_line(cursor)
        cursor.removeSelectedText()
        for line in completed_lines:
            self._insert(cursor, line)
            cursor.insertBlock()
        self._insert(cursor, self._parser.open_line())
        cursor.endEditBlock()
        if was_at_end:
            scroll_bar.setValue(scroll_bar.maximum())

    def restyle(self, look: Look) -> None:
        """Use the font of a look for the whole text, and its colors for text that is appended from now on."""
        self._look = look
        self._formats.clear()
        self.setFont(look.fonts.mono)

    def _insert(self, cursor: QTextCursor, line: Line) -> None:
        for text, style in line:
            cursor.insertText(text, self._format(style))

    def _format(self, style: TextStyle) -> QTextCharFormat:
        if style not in self._formats:
            self._formats[style] = _char_format(style, self._look.theme)
        return self._formats[style]


def _select_last_line(cursor: QTextCursor) -> None:
    cursor.movePosition(QTextCursor.MoveOperation.End)
    cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)


def _char_format(style: TextStyle, theme: Theme) -> QTextCharFormat:
    background = theme.selection if style.marked else theme.background
    color = theme.text if style.color is None else _resolve_color(style.color, theme)
    char_format = QTextCharFormat()
    char_format.setForeground(readable(color, theme.text, background, MIN_CONTRAST))
    if style.marked:
        char_format.setBackground(background)
    if style.bold:
        char_format.setFontWeight(QFont.Weight.Bold)
    char_format.setFontItalic(style.italic)
    char_format.setFontUnderline(style.underlined)
    return char_format


def _resolve_color(color: int | RgbColor, theme: Theme) -> QColor:
    """Return an RGB color, or the color with a number in the 256-color palette."""
    if isinstance(color, RgbColor):
        return QColor(*color)
    if color < FIRST_CUBE_COLOR:
        return _ansi_color(color, theme)
    if color < FIRST_GRAY:
        return _cube_color(color - FIRST_CUBE_COLOR)
    gray = DARKEST_GRAY + GRAY_STEP * (color - FIRST_GRAY)
    return QColor(gray, gray, gray)


def _ansi_color(number: int, theme: Theme) -> QColor:
    """Return the color of the theme for a normal (0 to 7) or bright (8 to 15) ANSI color.

    Normal and bright look the same, because a theme has only one color of each hue.
    """
    return theme.color(THEME_COLORS[number % len(THEME_COLORS)])


def _cube_color(index: int) -> QColor:
    """Return a color of the color cube, which counts blue fastest and red slowest."""
    levels = len(CUBE_LEVELS)
    red, green_and_blue = divmod(index, levels * levels)
    green, blue = divmod(green_and_blue, levels)
    return QColor(CUBE_LEVELS[red], CUBE_LEVELS[green], CUBE_LEVELS[blue])
