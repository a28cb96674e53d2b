"""A text shown to its last character: a command, or a difference whose lines are signed and not only coloured."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont, QResizeEvent, QTextBlockFormat, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

from ui.theme import Look, blend
from ui.visible import visible

Sign = Literal["", " ", "+", "-", "@"]

PIECE: Final = 1_000  # longer lines are shown in pieces: laying out an endless one would freeze the window
LINES_AT_ONCE: Final = 2_000
SHOWN: Final = {"": "", " ": "  ", "+": "+ ", "-": "− ", "@": ""}


class Line(NamedTuple):
    """`sign` is + for what comes, - for what goes, @ for a heading of ours; empty where nothing is compared."""

    text: str
    sign: Sign = ""


class WholeText(QPlainTextEdit):
    """As high as its lines, so that it is scrolled with everything around it. Very long texts come in portions."""

    grew = Signal()

    def __init__(self, look: Look, *, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._lines: Sequence[Line] = ()
        self._shown = 0
        self.setObjectName(name)
        self.setProperty("bare", True)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(look.fonts.mono)
        self.setTabChangesFocus(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        for set_bar in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            set_bar(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)

    def show_lines(self, lines: Sequence[Line]) -> None:
        self._lines, self._shown = lines, 0
        self.clear()
        self.show_more()

    def show_more(self) -> bool:
        """Another portion; False when all of it is there."""
        if self.rest() == 0:
            return False
        portion = self._lines[self._shown : self._shown + LINES_AT_ONCE]
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        first = self._shown == 0
        for line in portion:
            for piece in _pieces(line.text):
                if not first:
                    cursor.insertBlock()
                first = False
                block, letters = self._formats(line.sign)
                cursor.setBlockFormat(block)
                cursor.insertText(SHOWN[line.sign] + piece, letters)
        cursor.endEditBlock()
        self._shown += len(portion)
        self.fit()
        return True

    def rest(self) -> int:
        """How many lines are still to come."""
        return len(self._lines) - self._shown

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.mono)
        shown = self._shown
        self.show_lines(self._lines)
        while self._shown < shown and self.show_more():
            pass

    def fit(self) -> None:
        """Take the height of what is shown."""
        height = round(self.document().size().height()) * self.fontMetrics().lineSpacing() + 2
        if height != self.height() or height != self.minimumHeight():
            self.setFixedHeight(height)
            self.grew.emit()

    def _formats(self, sign: Sign) -> tuple[QTextBlockFormat, QTextCharFormat]:
        theme = self._look.theme
        block, letters = QTextBlockFormat(), QTextCharFormat()
        colours = {"+": theme.done, "-": theme.failed, "@": theme.second}
        letters.setForeground(theme.text if sign == "" else colours.get(sign, theme.second))
        if sign in ("+", "-"):
            block.setBackground(blend(colours[sign], theme.background, 0.10))
        if sign == "@":
            letters.setFontWeight(QFont.Weight.Bold)
        return block, letters

    # Qt

    def sizeHint(self) -> QSize:
        return QSize(240, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.fit()


def exact(text: str) -> str:
    """Every character that hides is written out, terminal codes too: nothing of what is allowed may be left out."""
    return visible(text.replace("\x1b", "⟦U+001B⟧").replace("\x9b", "⟦U+009B⟧"))


def one_line(text: str) -> str:
    """The same on one line: words of others cannot begin a row that looks like one of ours."""
    return " ↵ ".join(exact(line) for line in text.split("\n"))


def lines_of(text: str, sign: Sign = "") -> list[Line]:
    """Text of others, exact; a carriage return at the end of a line is written out as well."""
    return [Line(exact(line), sign) for line in text.split("\n")]


def _pieces(text: str) -> Iterator[str]:
    yield text[:PIECE]
    for start in range(PIECE, len(text), PIECE):
        yield text[start : start + PIECE]
