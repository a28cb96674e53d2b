"""Typing aids of the skill editor: indentation, list continuation and automatic closing of brackets and quotes."""

import re
from typing import Final, NamedTuple

from PySide6.QtGui import QTextCursor

PAIRS: Final = {"(": ")", "[": "]", "{": "}", '"': '"', "`": "`"}
# Typing one of these characters surrounds the selected text with the pair.
SURROUNDING_PAIRS: Final = {**PAIRS, "*": "*", "_": "_", "'": "'"}
CLOSING: Final = frozenset(PAIRS.values())
OPENING_BRACKETS: Final = frozenset("([{")
CLOSING_BRACKETS: Final = {PAIRS[bracket]: bracket for bracket in OPENING_BRACKETS}
LIST_ITEM: Final = re.compile(r"^(\s*(?:>\s*)*)(?:([-*+])|(\d{1,9})([.)]))(\s+)(\[[ xX]\]\s+)?")
INDENT: Final = "  "
MAX_BRACKET_LINE: Final = 4_000  # characters; in a longer line, matching brackets are not searched


class BracketPair(NamedTuple):
    """The positions in the document of a bracket and of its counterpart."""

    bracket: int
    counterpart: int


class CursorPlace(NamedTuple):
    """The text of the cursor's line, and the index in it of the character after the cursor.

    The index can differ from Qt's position, which counts UTF-16 code units.
    """

    line: str
    at: int


def insert_line_break(cursor: QTextCursor, *, continue_lists: bool) -> None:
    """Insert a line break and keep the indentation.

    With `continue_lists`, a line break in a list item begins the next item, and in an empty item ends the list.
    """
    line, at = _cursor_place(cursor)
    item = LIST_ITEM.match(line) if continue_lists else None
    cursor.beginEditBlock()
    if item and not cursor.hasSelection() and at >= item.end():
        if line[item.end() :].strip():
            cursor.insertText("\n" + _next_item(item))
        else:
            cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock)
            cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
    else:
        indentation = line[: len(line) - len(line.lstrip(" \t"))]
        cursor.insertText("\n" + indentation[:at])
    cursor.endEditBlock()


def _next_item(item: re.Match[str]) -> str:
    mark = item[2] or f"{int(item[3]) + 1}{item[4]}"
    return f"{item[1]}{mark}{item[5]}{'[ ] ' if item[6] else ''}"


def type_character(cursor: QTextCursor, char: str) -> bool:
    """Handle a typed bracket or quote; return whether it was handled.

    It surrounds a selection, is inserted as a pair unless text follows, or moves past an identical closing character.
    """
    if cursor.hasSelection():
        return _surround_selection(cursor, char)
    line, index = _cursor_place(cursor)
    following, previous = line[index : index + 1], line[index - 1 : index] if index else ""
    if char in CLOSING and following == char:
        cursor.movePosition(QTextCursor.MoveOperation.Right)
        return True
    text_follows = following != "" and following not in " \t)]},.;:"
    closes_quote = char in '"`' and (previous.isalnum() or previous == char)
    if char not in PAIRS or text_follows or closes_quote:
        return False
    cursor.insertText(char + PAIRS[char])
    cursor.movePosition(QTextCursor.MoveOperation.Left)
    return True


def _surround_selection(cursor: QTextCursor, char: str) -> bool:
    """Put a typed character and its counterpart around the selection; return whether that is possible."""
    selected, start = cursor.selectedText(), cursor.selectionStart()
    if char not in SURROUNDING_PAIRS or "\u2029" in selected:
        return False
    cursor.insertText(f"{char}{selected}{SURROUNDING_PAIRS[char]}")
    cursor.setPosition(start + 1)
    cursor.setPosition(start + 1 + len(selected.encode("utf-16-le")) // 2, QTextCursor.MoveMode.KeepAnchor)
    return True


def delete_empty_pair(cursor: QTextCursor) -> bool:
    """If the cursor is within an empty pair of brackets or quotes, delete both; return whether it was."""
    line, at = _cursor_place(cursor)
    if cursor.hasSelection() or not at or PAIRS.get(line[at - 1]) != line[at : at + 1]:
        return False
    cursor.beginEditBlock()
    cursor.deleteChar()
    cursor.deletePreviousChar()
    cursor.endEditBlock()
    return True


def indent(cursor: QTextCursor) -> None:
    """Indent the selected lines, or a list item if the cursor is at its beginning; otherwise insert spaces."""
    blocks = _selected_lines(cursor)
    item = LIST_ITEM.match(cursor.block().text())
    if not cursor.hasSelection() and not (item and cursor.positionInBlock() <= item.end()):
        cursor.insertText(INDENT)
        return
    cursor.beginEditBlock()
    edit = QTextCursor(cursor.document())
    for number in blocks:
        block = cursor.document().findBlockByNumber(number)
        if block.text():
            edit.setPosition(block.position())
            edit.insertText(INDENT)
    cursor.endEditBlock()


def outdent(cursor: QTextCursor) -> None:
    """Unindent the selected lines or the current one."""
    cursor.beginEditBlock()
    edit = QTextCursor(cursor.document())
    for number in _selected_lines(cursor):
        block = cursor.document().findBlockByNumber(number)
        text = block.text()
        edit.setPosition(block.position())
        leading_spaces = len(text) - len(text.lstrip(" "))
        for _ in range(1 if text.startswith("\t") else min(len(INDENT), leading_spaces)):
            edit.deleteChar()
    cursor.endEditBlock()


def bracket_pair(cursor: QTextCursor) -> BracketPair | None:
    """Return the bracket at the cursor and its counterpart; None without both in the line."""
    line, start, column = cursor.block().text(), cursor.block().position(), cursor.positionInBlock()
    if not line.isascii() or len(line) > MAX_BRACKET_LINE:
        return None  # positions in Qt (UTF-16 code units) would differ from string indexes
    for index in (column - 1, column):
        char = line[index] if 0 <= index < len(line) else " "
        if char in OPENING_BRACKETS:
            counterpart = _find_counterpart(line, index, PAIRS[char], step=1)
        elif char in CLOSING_BRACKETS:
            counterpart = _find_counterpart(line, index, CLOSING_BRACKETS[char], step=-1)
        else:
            continue
        if counterpart >= 0:
            return BracketPair(start + index, start + counterpart)
    return None


def _find_counterpart(line: str, index: int, other: str, *, step: int) -> int:
    """Return the index of the counterpart `other` of the bracket at an index, searched forward or (-1) backward.

    -1 if the line does not contain it.
    """
    char = line[index]
    depth = 0
    while 0 <= index < len(line):
        depth += (line[index] == char) - (line[index] == other)
        if depth == 0:
            return index
        index += step
    return -1


def _cursor_place(cursor: QTextCursor) -> CursorPlace:
    line, position = cursor.block().text(), cursor.positionInBlock()
    if line.isascii():
        return CursorPlace(line, position)
    before = line.encode("utf-16-le")[: 2 * position].decode("utf-16-le", "ignore")
    return CursorPlace(line, len(before))


def _selected_lines(cursor: QTextCursor) -> range:
    """Return the numbers of the lines that the selection covers, or that of the cursor's line."""
    document = cursor.document()
    first, last = document.findBlock(cursor.selectionStart()), document.findBlock(cursor.selectionEnd())
    ends_at_line_start = cursor.hasSelection() and cursor.selectionEnd() == last.position() and last != first
    return range(first.blockNumber(), last.blockNumber() + (0 if ends_at_line_start else 1))
