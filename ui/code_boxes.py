"""The boxes of code in a text document: which there are, what is copied from them, and how they are drawn."""

from PySide6.QtCore import QRect
from PySide6.QtGui import QPainter, QPen, QTextCursor, QTextDocument, QTextFrame

from ui.document_formats import BOX_ABOVE, BOX_BELOW, CODE_FRAME
from ui.theme import Look


def code_frames(document: QTextDocument) -> list[QTextFrame]:
    """The boxes of code, in order."""
    return [frame for frame in document.rootFrame().childFrames() if frame.frameFormat().hasProperty(CODE_FRAME)]


def code_of(frame: QTextFrame) -> str:
    """The code in a box, as it is copied."""
    cursor = frame.firstCursorPosition()
    cursor.setPosition(frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
    return cursor.selectedText().replace("\u2029", "\n").replace("\u2028", "\n")


def draw_code_boxes(painter: QPainter, document: QTextDocument, look: Look, within: QRect) -> None:
    """Before the text is painted: Qt's own boxes have square corners."""
    theme, layout = look.theme, document.documentLayout()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.strong_line, 1))
    painter.setBrush(theme.panel if theme.dark else theme.background)
    for frame in code_frames(document):
        box = layout.frameBoundingRect(frame).adjusted(0.5, BOX_ABOVE + 0.5, -0.5, -BOX_BELOW - 0.5)
        if box.intersects(within):
            painter.drawRoundedRect(box, 7, 7)
