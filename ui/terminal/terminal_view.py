"""The output of a command in terminal colors, which are taken from the theme so that they stay readable."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from ui.style.contrast import readable
from ui.style.theme import Look
from ui.text.terminal_text import Line, RgbColor, TerminalText, TextStyle

MAX_LINES: Final = 10_000
MARGIN: Final = 12
MIN_CONTRAST: Final = 4.5
# Color tokens of the theme for the eight terminal colors: black, red, green, yellow, blue, magenta, cyan, white.
COLORS: Final = ("third", "failed", "done", "waiting", "accent", "learned", "network", "text")
CUBE: Final = (0, 95, 135, 175, 215, 255)  # the levels of red, green and blue in the colors 16 to 231


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
        self.setProperty("bare", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUndoRedoEnabled(False)
        self.setMaximumBlockCount(MAX_LINES)
        self.setFont(look.fonts.mono)
        self.setWordWrapMode(self.wordWrapMode().WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(MARGIN)

    def clear_output(self) -> None:
        self.clear()
        self._parser = TerminalText()

    def append_output(self, text: str) -> None:
        """Append a piece of output. It may continue or overwrite the last line."""
        bar = self.verticalScrollBar()
        at_end = bar.value() >= bar.maximum()
        lines = self._parser.feed(text)
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()  # removes the line that is still open; it is written again
        for line in lines:
            self._insert(cursor, line)
            cursor.insertBlock()
        self._insert(cursor, self._parser.open_line())
        cursor.endEditBlock()
        if at_end:
            bar.setValue(bar.maximum())

    def restyle(self, look: Look) -> None:
        """Use the colors of a theme for text that is appended from now on."""
        self._look = look
        self._formats.clear()
        self.setFont(look.fonts.mono)

    def _insert(self, cursor: QTextCursor, line: Line) -> None:
        for text, style in line:
            cursor.insertText(text, self._format(style))

    def _format(self, style: TextStyle) -> QTextCharFormat:
        if style not in self._formats:
            made, theme = QTextCharFormat(), self._look.theme
            background = theme.selection if style.marked else theme.background
            color = theme.text if style.color is None else self._color(style.color)
            made.setForeground(readable(color, theme.text, background, MIN_CONTRAST))
            if style.marked:
                made.setBackground(background)
            if style.bold:
                made.setFontWeight(QFont.Weight.Bold)
            made.setFontItalic(style.italic)
            made.setFontUnderline(style.underlined)
            self._formats[style] = made
        return self._formats[style]

    def _color(self, color: int | RgbColor) -> QColor:
        if isinstance(color, tuple):
            return QColor(*color)
        if color < 16:
            return self._look.theme.color(COLORS[color % 8])
        if color < 232:
            red, rest = divmod(color - 16, 36)
            return QColor(CUBE[red], CUBE[rest // 6], CUBE[rest % 6])
        gray = 8 + 10 * (color - 232)
        return QColor(gray, gray, gray)
