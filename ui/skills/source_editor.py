"""The source editor of a skill or one of its files: syntax highlighting, gutter, findings and typing aids."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPaintEvent, QResizeEvent, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from ui.skills import typing_aids
from ui.skills.gutter import EditorGutter
from ui.skills.line_text_edit import LineTextEdit
from ui.skills.syntax_highlighter import SyntaxHighlighter
from ui.style.theme import Look, blend
from ui.widgets.labels import ENTER_KEYS

MAX_UNDERLINES: Final = 200
MAX_ADDED_LINES: Final = 400
SHIFT: Final = Qt.KeyboardModifier.ShiftModifier


class FindingMark(NamedTuple):
    """A finding to be marked in the text. `line` counts from 1; 0 means the whole text."""

    line: int
    level: str
    text: str


class SourceEditor(LineTextEdit):
    """The source editor. As Tab indents the text, F6 moves the focus to the next part of the page."""

    cursor_moved = Signal(int)  # line of the cursor, counted from 0
    scrolled = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._marks: Sequence[FindingMark] = ()
        self._added_lines: Sequence[int] = ()
        self._matches: list[QTextEdit.ExtraSelection] = []
        self._line = 0
        self.is_markdown = True
        self.setObjectName("skill.source")
        self.setAccessibleName(self.tr("Skill text"))
        self.setAccessibleDescription(self.tr("Tab indents. F6 moves the focus to the next part of the page."))
        self.setProperty("bare", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUndoRedoEnabled(True)
        self.document().setDocumentMargin(6)
        self.highlighter = SyntaxHighlighter(self, look)
        self._gutter = EditorGutter(look, self, self.finding_text)
        self.blockCountChanged.connect(lambda _: self._make_room_for_gutter())
        self.updateRequest.connect(self._update_gutter)
        self.cursorPositionChanged.connect(self._on_cursor_moved)
        self.restyle(look)

    def open(self, text: str, name: str) -> None:
        """Open another text, with an empty undo history."""
        self.is_markdown = name.endswith((".md", ".markdown"))
        self._marks = ()
        self._added_lines = ()
        self._matches = []
        self._line = 0
        self.setPlainText(text)
        self.highlighter.restart(name)
        self._gutter.levels = {}
        self._gutter.changed = frozenset()
        self._gutter.added = frozenset()
        self._update_selections()

    def replace_text(self, text: str) -> None:
        """Replace the text in one step of the undo history. The common beginning and end are left untouched."""
        before = self.toPlainText()
        if before == text:
            return
        head = _common_prefix(before, text)
        tail = _common_prefix(before[head:][::-1], text[head:][::-1])
        cursor = QTextCursor(self.document())
        cursor.setPosition(_utf16_length(before[:head]))
        cursor.setPosition(_utf16_length(before[: len(before) - tail]), QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text[head : len(text) - tail])

    def show_marks(self, marks: Sequence[FindingMark]) -> None:
        self._marks = marks
        levels: dict[int, str] = {}
        for mark in marks:
            line = max(0, mark.line - 1)
            if levels.get(line) != "error":  # an error takes precedence over a warning in the same line
                levels[line] = mark.level
        self._gutter.levels = levels
        self._gutter.update()
        self._update_selections()

    def show_changed(self, lines: frozenset[int]) -> None:
        """Mark the lines with unsaved changes; lines are counted from 0."""
        if self._gutter.changed != lines:
            self._gutter.changed = lines
            self._gutter.update()

    def mark_added(self, lines: Sequence[int]) -> None:
        """Mark the lines that a proposal adds; lines are counted from 0."""
        self._added_lines = lines
        self._gutter.added = frozenset(lines)
        self._gutter.update()
        self._update_selections()

    def highlight_matches(self, matches: list[QTextEdit.ExtraSelection]) -> None:
        self._matches = matches
        self._update_selections()

    def finding_text(self, line: int) -> str:
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
        self.highlighter.restyle(look)
        self._gutter.restyle(look)
        self._make_room_for_gutter()
        self._update_selections()

    def _on_cursor_moved(self) -> None:
        line = self.textCursor().blockNumber()
        self._update_selections()
        if line != self._line:
            self._line = line
            self._gutter.update()
        self.cursor_moved.emit(line)

    def _update_selections(self) -> None:
        """Update the backgrounds and underlines of added lines, the current line, findings, matches and brackets."""
        theme = self._look.theme
        added_color = blend(theme.done, theme.background, 0.14)
        current_color = blend(theme.text, theme.background, 0.05)
        added_lines = self._added_lines[:MAX_ADDED_LINES]
        selections = [self._whole_line(line, added_color, wrapped=True) for line in added_lines]
        if not self.isReadOnly() and not self.textCursor().hasSelection():
            selections.append(self._whole_line(self.textCursor().blockNumber(), current_color))
        selections += [self._wave(mark) for mark in self._marks[:MAX_UNDERLINES] if mark.line]
        selections += self._matches
        if pair := typing_aids.bracket_pair(self.textCursor()):
            selections += [self._bracket(position) for position in pair]
        self.setExtraSelections(selections)

    def _whole_line(self, line: int, color: QColor, *, wrapped: bool = False) -> QTextEdit.ExtraSelection:
        selection = QTextEdit.ExtraSelection()
        selection.cursor = QTextCursor(self.document().findBlockByNumber(line))
        if wrapped:  # select the line break too, so that the background extends to the right edge
            selection.cursor.movePosition(QTextCursor.MoveOperation.NextBlock, QTextCursor.MoveMode.KeepAnchor)
        selection.format.setBackground(color)
        selection.format.setProperty(QTextCharFormat.Property.FullWidthSelection, True)
        return selection

    def _wave(self, mark: FindingMark) -> QTextEdit.ExtraSelection:
        selection = QTextEdit.ExtraSelection()
        block = self.document().findBlockByNumber(mark.line - 1)
        cursor = QTextCursor(block)
        cursor.setPosition(block.position() + len(block.text()) - len(block.text().lstrip()))
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        selection.cursor = cursor
        selection.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        theme = self._look.theme
        selection.format.setUnderlineColor(theme.failed if mark.level == "error" else theme.waiting)
        return selection

    def _bracket(self, position: int) -> QTextEdit.ExtraSelection:
        selection = QTextEdit.ExtraSelection()
        cursor = QTextCursor(self.document())
        cursor.setPosition(position)
        cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.KeepAnchor)
        selection.cursor = cursor
        selection.format.setBackground(blend(self._look.theme.accent, self._look.theme.background, 0.3))
        return selection

    def _make_room_for_gutter(self) -> None:
        self.setViewportMargins(self._gutter.needed_width(), 0, 0, 0)

    def _update_gutter(self, rect: QRect, by: int) -> None:
        if by:
            self._gutter.scroll(0, by)
            self.scrolled.emit()
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        rect = self.contentsRect()
        self._gutter.setGeometry(rect.x(), rect.y(), self._gutter.needed_width(), rect.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        self.highlighter.highlight_visible()
        super().paintEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.modifiers() == Qt.KeyboardModifier.AltModifier:
            event.ignore()  # leaves the key to the page, which may have a shortcut for it
        elif self.isReadOnly() or not self._handle_key(event):
            super().keyPressEvent(event)
        else:
            self.ensureCursorVisible()
            event.accept()

    def _handle_key(self, event: QKeyEvent) -> bool:
        """Handle a key for which there is a typing aid, such as Enter in a list; return whether it was handled."""
        key, cursor = event.key(), self.textCursor()
        if event.modifiers() & ~(SHIFT | Qt.KeyboardModifier.KeypadModifier):
            return False
        handled = True
        if key in ENTER_KEYS and not event.modifiers() & SHIFT:
            is_in_body = self.highlighter.state_before(cursor.block()).region == "body"
            typing_aids.insert_line_break(cursor, continue_lists=self.is_markdown and is_in_body)
        elif key == Qt.Key.Key_Tab:
            typing_aids.indent(cursor)
        elif key == Qt.Key.Key_Backtab:
            typing_aids.outdent(cursor)
        elif key == Qt.Key.Key_Backspace:
            handled = typing_aids.delete_empty_pair(cursor)
        elif len(event.text()) == 1:
            handled = typing_aids.type_character(cursor, event.text())
        else:
            handled = False
        if handled:
            self.setTextCursor(cursor)
        return handled


def _common_prefix(first: str, second: str) -> int:
    """Return the number of characters at the beginning that both texts have in common."""
    length = min(len(first), len(second))
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
