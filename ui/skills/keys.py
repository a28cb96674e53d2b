"""What keys do while text is written: lines keep their indent, lists go on, pairs close, Tab moves lines."""

import re
from typing import Final

from PySide6.QtGui import QTextCursor

PAIRS: Final = {"(": ")", "[": "]", "{": "}", '"': '"', "`": "`"}
ROUND: Final = {**PAIRS, "*": "*", "_": "_", "'": "'"}  # written around what is chosen
CLOSING: Final = frozenset(PAIRS.values())
ITEM: Final = re.compile(r"^(\s*(?:>\s*)*)(?:([-*+])|(\d{1,9})([.)]))(\s+)(\[[ xX]\]\s+)?")
STEP: Final = "  "
SEARCHED: Final = 4_000  # characters in which the other half of a bracket is looked for


def new_line(cursor: QTextCursor, *, lists: bool) -> None:
    """A line below with the same indent; in a list the next item, and an item without words ends the list."""
    line, at = _place(cursor)
    found = ITEM.match(line) if lists else None
    cursor.beginEditBlock()
    if found and not cursor.hasSelection() and at >= found.end():
        if line[found.end() :].strip():
            cursor.insertText("\n" + _next_item(found))
        else:
            cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock)
            cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
    else:
        indent = line[: len(line) - len(line.lstrip(" \t"))][:at]
        cursor.insertText("\n" + indent)
    cursor.endEditBlock()


def _next_item(found: "re.Match[str]") -> str:
    mark = found[2] or f"{int(found[3]) + 1}{found[4]}"
    return f"{found[1]}{mark}{found[5]}{'[ ] ' if found[6] else ''}"


def typed(cursor: QTextCursor, sign: str) -> bool:
    """A bracket or a quote: around what is chosen, as a pair before nothing, or over the one that stands there."""
    if cursor.hasSelection():
        if sign not in ROUND or "\u2029" in cursor.selectedText():
            return False
        words, start = cursor.selectedText(), cursor.selectionStart()
        cursor.insertText(f"{sign}{words}{ROUND[sign]}")
        cursor.setPosition(start + 1)
        cursor.setPosition(start + 1 + len(words.encode("utf-16-le")) // 2, QTextCursor.MoveMode.KeepAnchor)
        return True
    line, at = _place(cursor)
    here, before = line[at : at + 1], line[at - 1 : at] if at else ""
    if sign in CLOSING and here == sign:
        cursor.movePosition(QTextCursor.MoveOperation.Right)
        return True
    free = not here or here in " \t)]},.;:"
    if sign in PAIRS and free and not (sign in '"`' and (before.isalnum() or before == sign)):
        cursor.insertText(sign + PAIRS[sign])
        cursor.movePosition(QTextCursor.MoveOperation.Left)
        return True
    return False


def erased(cursor: QTextCursor) -> bool:
    """Backspace between two halves of a pair takes both."""
    line, at = _place(cursor)
    if cursor.hasSelection() or not at or PAIRS.get(line[at - 1]) != line[at : at + 1]:
        return False
    cursor.beginEditBlock()
    cursor.deleteChar()
    cursor.deletePreviousChar()
    cursor.endEditBlock()
    return True


def indent(cursor: QTextCursor) -> None:
    """The chosen lines one step to the right; with nothing chosen, or inside an item, blanks or the whole item."""
    blocks = _lines(cursor)
    item = ITEM.match(cursor.block().text())
    if not cursor.hasSelection() and not (item and cursor.positionInBlock() <= item.end()):
        cursor.insertText(STEP)
        return
    cursor.beginEditBlock()
    edit = QTextCursor(cursor.document())
    for number in blocks:
        block = cursor.document().findBlockByNumber(number)
        if block.text():
            edit.setPosition(block.position())
            edit.insertText(STEP)
    cursor.endEditBlock()


def outdent(cursor: QTextCursor) -> None:
    """The chosen lines, or this one, a step to the left."""
    cursor.beginEditBlock()
    edit = QTextCursor(cursor.document())
    for number in _lines(cursor):
        block = cursor.document().findBlockByNumber(number)
        text = block.text()
        edit.setPosition(block.position())
        for _ in range(1 if text.startswith("\t") else min(len(STEP), len(text) - len(text.lstrip(" ")))):
            edit.deleteChar()
    cursor.endEditBlock()


def bracket_pair(cursor: QTextCursor) -> tuple[int, int] | None:
    """The places of the bracket at the cursor and of its other half."""
    line, start, at = cursor.block().text(), cursor.block().position(), cursor.positionInBlock()
    if not line.isascii() or len(line) > SEARCHED:
        return None  # places count halves of pairs beyond the first plane; brackets are a comfort
    for place in (at - 1, at):
        sign = line[place] if 0 <= place < len(line) else " "
        if sign in "([{":
            other = _other(line, place, sign, PAIRS[sign], 1)
        elif sign in ")]}":
            other = _other(line, place, sign, {end: begin for begin, end in PAIRS.items()}[sign], -1)
        else:
            continue
        if other >= 0:
            return start + place, start + other
    return None


def _other(line: str, place: int, sign: str, other: str, step: int) -> int:
    depth = 0
    while 0 <= place < len(line):
        depth += (line[place] == sign) - (line[place] == other)
        if depth == 0:
            return place
        place += step
    return -1


def _place(cursor: QTextCursor) -> tuple[str, int]:
    """The line, and where in it the cursor stands: Qt counts halves of the signs beyond the first plane."""
    line, at = cursor.block().text(), cursor.positionInBlock()
    return line, at if line.isascii() else len(line.encode("utf-16-le")[: 2 * at].decode("utf-16-le", "ignore"))


def _lines(cursor: QTextCursor) -> range:
    document = cursor.document()
    first, last = document.findBlock(cursor.selectionStart()), document.findBlock(cursor.selectionEnd())
    behind = cursor.hasSelection() and cursor.selectionEnd() == last.position() and last != first
    return range(first.blockNumber(), last.blockNumber() + (0 if behind else 1))
