"""A read-only view of a complete command or diff. The lines of a diff have signs as well as colors."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFont,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

from ui.ask.line_colors import LineColors, line_colors
from ui.diff.diff_delegate import TINT
from ui.diff.line_texts import EMPHASIS
from ui.style.theme import Look, blend
from ui.text.code_tokens import SyntaxSpan
from ui.text.syntax_formats import syntax_formats, utf16_range
from ui.text.visible import visible_exactly

DiffSign = Literal["", " ", "+", "-", "@"]

# A longer line is split, because laying out a very long one would freeze the window.
MAX_LINE_CHARS: Final = 1_000
SCROLL_KEYS: Final = frozenset(
    {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End}
)
DOCUMENT_KEYS: Final = (QKeySequence.StandardKey.MoveToStartOfDocument, QKeySequence.StandardKey.MoveToEndOfDocument)
LINES_PER_PORTION: Final = 2_000
SIGN_TEXT: Final = {"": "", " ": "  ", "+": "+ ", "-": "− ", "@": ""}


class DisplayLine(NamedTuple):
    """A line of text. `sign` is + for an added line, - for a removed one, @ for a file heading, and "" for others."""

    text: str
    sign: DiffSign = ""


class LineFormats(NamedTuple):
    block: QTextBlockFormat
    text: QTextCharFormat


class ColoredLine(NamedTuple):
    """A line that has been inserted as `block` and is still to be colored."""

    block: QTextBlock
    line: DisplayLine
    colors: LineColors


class FullTextView(QPlainTextEdit):
    """A text view that is as high as its lines, so that its parent scrolls. A very long text is loaded in portions.

    The keyboard moves a cursor through the text. At the start and the end of the text, the keys go to the parent, which
    scrolls. Ctrl+Home and Ctrl+End always go to the parent too, so that it scrolls to what is above and below the text.
    """

    height_changed = Signal()
    focus_changed = Signal(bool)
    cursor_moved = Signal(QRect)
    """The rectangle of the cursor, which the user has moved."""

    def __init__(self, look: Look, *, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._lines: Sequence[DisplayLine] = ()
        self._colors: Sequence[LineColors] = ()
        self._loaded_count = 0
        self.setObjectName(name)
        self.setProperty("bare", True)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(look.fonts.mono)
        self.setTabChangesFocus(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)

    def show_lines(self, lines: Sequence[DisplayLine]) -> None:
        self._lines = lines
        self._loaded_count = 0
        self._colors = line_colors(lines)
        self.clear()
        self.show_more()
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def show_more(self) -> bool:
        """Append the next portion of lines; return False if there is none left."""
        if self.lines_left() == 0:
            return False
        portion = self._lines[self._loaded_count : self._loaded_count + LINES_PER_PORTION]
        colored = self._insert_lines(portion)
        syntax = syntax_formats(self._look)
        for block, line, colors in colored:
            block.layout().setFormats(self._format_ranges(line, colors, syntax))
            self.document().markContentsDirty(block.position(), block.length())
        self._loaded_count += len(portion)
        self.fit_height()
        return True

    def _insert_lines(self, lines: Sequence[DisplayLine]) -> list[ColoredLine]:
        """Append these lines, which begin at the index `_loaded_count`; return those that have colors.

        A long line is divided into segments; only the first one is colored.
        """
        colored: list[ColoredLine] = []
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        is_first_block = self._loaded_count == 0
        for index, line in enumerate(lines, self._loaded_count):
            formats = self._formats_for(line.sign)
            for position, segment in enumerate(_split_long(line.text)):
                if not is_first_block:
                    cursor.insertBlock()
                is_first_block = False
                cursor.setBlockFormat(formats.block)
                cursor.insertText(SIGN_TEXT[line.sign] + segment, formats.text)
                if self._colors and position == 0 and line.sign not in {"", "@"}:
                    colored.append(ColoredLine(cursor.block(), line, self._colors[index]))
        cursor.endEditBlock()
        return colored

    def _format_ranges(
        self, line: DisplayLine, colors: LineColors, syntax: Mapping[str, QTextCharFormat]
    ) -> list[QTextLayout.FormatRange]:
        """Return the formats of a line: its sign, syntax colors and changed words."""
        theme = self._look.theme
        tint = theme.failed if line.sign == "-" else theme.done
        sign_format = QTextCharFormat()
        sign_format.setForeground(tint)
        changed_format = QTextCharFormat()
        changed_format.setForeground(theme.text)
        changed_format.setBackground(blend(tint, theme.background, EMPHASIS))
        sign_length = len(SIGN_TEXT[line.sign])
        ranges: list[QTextLayout.FormatRange] = []
        if line.sign != " ":
            ranges.append(_format_range(line.text, SyntaxSpan(0, 1, ""), sign_format, 0))
        highlighted = [span for span in colors.spans if span.kind in syntax]
        ranges += [_format_range(line.text, span, syntax[span.kind], sign_length) for span in highlighted]
        for start, end in colors.changed:
            span = SyntaxSpan(start, end - start, "")
            ranges.append(_format_range(line.text, span, changed_format, sign_length))
        return ranges

    def lines_left(self) -> int:
        """Return the number of lines that have not been loaded yet."""
        return len(self._lines) - self._loaded_count

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.mono)
        loaded_lines = self._loaded_count
        self.show_lines(self._lines)
        while self._loaded_count < loaded_lines and self.show_more():
            pass

    def fit_height(self) -> None:
        """Set the height of the view to that of the loaded lines."""
        height = round(self.document().size().height()) * self.fontMetrics().lineSpacing() + 2
        if height != self.height() or height != self.minimumHeight():
            self.setFixedHeight(height)
            self.height_changed.emit()

    def _formats_for(self, sign: DiffSign) -> LineFormats:
        theme = self._look.theme
        block_format = QTextBlockFormat()
        char_format = QTextCharFormat()
        char_format.setForeground(theme.second if sign in {" ", "@"} else theme.text)
        if sign in {"+", "-"}:
            color = theme.done if sign == "+" else theme.failed
            block_format.setBackground(blend(color, theme.background, TINT))
            if not self._colors:
                char_format.setForeground(color)
        if sign == "@":
            char_format.setFontWeight(QFont.Weight.Bold)
        return LineFormats(block_format, char_format)

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(240, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        old_position = self.textCursor().position()
        super().keyPressEvent(event)
        has_moved = self.textCursor().position() != old_position
        if has_moved:
            self.cursor_moved.emit(self.cursorRect())
        goes_to_start_or_end = any(event.matches(key) for key in DOCUMENT_KEYS)
        if event.key() in SCROLL_KEYS and (goes_to_start_or_end or not has_moved):
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.fit_height()


def one_line(text: str) -> str:
    """Return untrusted text on one line with all characters visible, so that it cannot imitate a row of the form."""
    return visible_exactly(text).replace("↵", "⟦U+21B5⟧").replace("\n", " ↵ ")


def split_exact(text: str, sign: DiffSign = "") -> list[DisplayLine]:
    """Split untrusted text into lines that show every character, each with the same sign."""
    return [DisplayLine(line, sign) for line in visible_exactly(text).split("\n")]


def _format_range(text: str, span: SyntaxSpan, char_format: QTextCharFormat, offset: int) -> QTextLayout.FormatRange:
    """Return the range of a span of the text, which begins `offset` characters after the start of the line."""
    start, length = utf16_range(text, span)
    format_range = QTextLayout.FormatRange()
    format_range.start = start + offset
    format_range.length = length
    format_range.format = char_format
    return format_range


def _split_long(text: str) -> Iterator[str]:
    yield text[:MAX_LINE_CHARS]
    for start in range(MAX_LINE_CHARS, len(text), MAX_LINE_CHARS):
        yield text[start : start + MAX_LINE_CHARS]
