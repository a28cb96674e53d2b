"""The field in which a skill is written: line numbers, colours, findings, and keys that know what a list is."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPaintEvent, QResizeEvent, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from ui.skills import keys
from ui.skills.colouring import Colouring
from ui.skills.lines import LinesField
from ui.skills.margin import Margin
from ui.theme import Look, blend
from ui.widgets.words import ENTER_KEYS

MOST_WAVES: Final = 200
MOST_TINTS: Final = 400
SHIFT: Final = Qt.KeyboardModifier.ShiftModifier


class Mark(NamedTuple):
    """Something that was found in the text; `line` counts from 1, 0 is the whole."""

    line: int
    level: str
    text: str


class SourceField(LinesField):
    """F6 leaves it, because Tab writes."""

    moved = Signal(int)  # the line the cursor came to
    seen = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._marks: Sequence[Mark] = ()
        self._tinted: Sequence[int] = ()
        self._hits: list[QTextEdit.ExtraSelection] = []
        self._line = 0
        self.prose = True
        self.setObjectName("skill.source")
        self.setAccessibleName(self.tr("Text of the skill"))
        self.setAccessibleDescription(self.tr("Tab indents. F6 goes to the next part of the page."))
        self.setProperty("bare", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUndoRedoEnabled(True)
        self.document().setDocumentMargin(6)
        self.colouring = Colouring(self, look)
        self._margin = Margin(look, self, self.said_of)
        self.blockCountChanged.connect(lambda _: self._make_room())
        self.updateRequest.connect(self._follow)
        self.cursorPositionChanged.connect(self._moved)
        self.restyle(look)

    def open(self, text: str, name: str) -> None:
        """Another text; what was done to the one before cannot be undone here."""
        self.prose = name.endswith((".md", ".markdown"))
        self._marks, self._tinted, self._hits, self._line = (), (), [], 0
        self.setPlainText(text)
        self.colouring.begin(name)
        self._margin.levels, self._margin.changed, self._margin.added = {}, frozenset(), frozenset()
        self._select()

    def replace_all(self, text: str) -> None:
        """Another text as one change, which undo takes back; what both have at their ends stays as it is."""
        before = self.toPlainText()
        if before == text:
            return
        head = _same(before, text)
        tail = _same(before[head:][::-1], text[head:][::-1])
        cursor = QTextCursor(self.document())
        cursor.setPosition(_units(before[:head]))
        cursor.setPosition(_units(before[: len(before) - tail]), QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text[head : len(text) - tail])

    def show_marks(self, marks: Sequence[Mark]) -> None:
        self._marks = marks
        levels: dict[int, str] = {}
        for mark in marks:
            line = max(0, mark.line - 1)
            if levels.get(line) != "error":
                levels[line] = mark.level
        self._margin.levels = levels
        self._margin.update()
        self._select()

    def show_changed(self, lines: frozenset[int]) -> None:
        """Lines, counted from 0, that are not as they were saved."""
        if self._margin.changed != lines:
            self._margin.changed = lines
            self._margin.update()

    def tint(self, lines: Sequence[int]) -> None:
        """Lines, counted from 0, that a proposal adds."""
        self._tinted = lines
        self._margin.added = frozenset(lines)
        self._margin.update()
        self._select()

    def show_hits(self, hits: list[QTextEdit.ExtraSelection]) -> None:
        self._hits = hits
        self._select()

    def said_of(self, line: int) -> str:
        return "\n".join(mark.text for mark in self._marks if max(0, mark.line - 1) == line)

    def set_wrap(self, on: bool) -> None:
        modes = QPlainTextEdit.LineWrapMode
        self.setLineWrapMode(modes.WidgetWidth if on else modes.NoWrap)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.mono)
        self.setTabStopDistance(self.fontMetrics().horizontalAdvance(" ") * 4)
        self.setCursorWidth(2)
        self.colouring.restyle(look)
        self._margin.restyle(look)
        self._make_room()
        self._select()

    def _moved(self) -> None:
        line = self.textCursor().blockNumber()
        self._select()
        if line != self._line:
            self._line = line
            self._margin.update()
        self.moved.emit(line)

    def _select(self) -> None:
        """Everything that lies under the letters: the line of the cursor, what was found, what is looked for."""
        theme = self._look.theme
        tint = blend(theme.done, theme.background, 0.14)
        made = [self._whole_line(line, tint, wrapped=True) for line in self._tinted[:MOST_TINTS]]
        if not self.isReadOnly() and not self.textCursor().hasSelection():
            made.append(self._whole_line(self.textCursor().blockNumber(), blend(theme.text, theme.background, 0.05)))
        made += [self._wave(mark) for mark in self._marks[:MOST_WAVES] if mark.line]
        made += self._hits
        if pair := keys.bracket_pair(self.textCursor()):
            made += [self._bracket(place) for place in pair]
        self.setExtraSelections(made)

    def _whole_line(self, line: int, colour: QColor, *, wrapped: bool = False) -> QTextEdit.ExtraSelection:
        made = QTextEdit.ExtraSelection()
        made.cursor = QTextCursor(self.document().findBlockByNumber(line))
        if wrapped:  # with the end of its line, so that its last part is filled to the edge as well
            made.cursor.movePosition(QTextCursor.MoveOperation.NextBlock, QTextCursor.MoveMode.KeepAnchor)
        made.format.setBackground(colour)
        made.format.setProperty(QTextCharFormat.Property.FullWidthSelection, True)
        return made

    def _wave(self, mark: Mark) -> QTextEdit.ExtraSelection:
        made = QTextEdit.ExtraSelection()
        block = self.document().findBlockByNumber(mark.line - 1)
        cursor = QTextCursor(block)
        cursor.setPosition(block.position() + len(block.text()) - len(block.text().lstrip()))
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        made.cursor = cursor
        made.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        theme = self._look.theme
        made.format.setUnderlineColor(theme.failed if mark.level == "error" else theme.waiting)
        return made

    def _bracket(self, place: int) -> QTextEdit.ExtraSelection:
        made = QTextEdit.ExtraSelection()
        cursor = QTextCursor(self.document())
        cursor.setPosition(place)
        cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.KeepAnchor)
        made.cursor = cursor
        made.format.setBackground(blend(self._look.theme.accent, self._look.theme.background, 0.3))
        return made

    def _make_room(self) -> None:
        self.setViewportMargins(self._margin.room(), 0, 0, 0)

    def _follow(self, rect: QRect, by: int) -> None:
        if by:
            self._margin.scroll(0, by)
            self.seen.emit()
        else:
            self._margin.update(0, rect.y(), self._margin.width(), rect.height())

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        place = self.contentsRect()
        self._margin.setGeometry(place.x(), place.y(), self._margin.room(), place.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        self.colouring.colour()
        super().paintEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.modifiers() == Qt.KeyboardModifier.AltModifier:
            event.ignore()  # a command of the page, not a sign
        elif self.isReadOnly() or not self._wrote(event):
            super().keyPressEvent(event)
        else:
            self.ensureCursorVisible()
            event.accept()

    def _wrote(self, event: QKeyEvent) -> bool:
        """Whether the key did something of its own."""
        key, cursor = event.key(), self.textCursor()
        plain = not event.modifiers() & ~(SHIFT | Qt.KeyboardModifier.KeypadModifier)
        if not plain:
            return False
        done = True
        if key in ENTER_KEYS and not event.modifiers() & SHIFT:
            keys.new_line(cursor, lists=self.prose and self.colouring.state_of(cursor.block()).where == "body")
        elif key == Qt.Key.Key_Tab:
            keys.indent(cursor)
        elif key == Qt.Key.Key_Backtab:
            keys.outdent(cursor)
        elif key == Qt.Key.Key_Backspace:
            done = keys.erased(cursor)
        elif len(event.text()) == 1:
            done = keys.typed(cursor, event.text())
        else:
            done = False
        if done:
            self.setTextCursor(cursor)
        return done


def _same(one: str, other: str) -> int:
    """How many signs both begin with."""
    least = min(len(one), len(other))
    low, high = 0, least
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
