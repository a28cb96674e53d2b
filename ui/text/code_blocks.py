"""Code blocks in a text document: finding them, reading their text and painting their frames."""

from PySide6.QtCore import QRect
from PySide6.QtGui import QPainter, QPen, QTextCursor, QTextDocument, QTextFrame

from ui.style.theme import Look
from ui.text.document_formats import CODE_BOTTOM_MARGIN, CODE_FRAME, CODE_TOP_MARGIN


def code_frames(document: QTextDocument) -> list[QTextFrame]:
    return [frame for frame in document.rootFrame().childFrames() if frame.frameFormat().hasProperty(CODE_FRAME)]


def code_text(frame: QTextFrame) -> str:
    """Return the text of a code block with ordinary line breaks, as it is copied."""
    cursor = frame.firstCursorPosition()
    cursor.setPosition(frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
    return cursor.selectedText().replace("\u2029", "\n").replace("\u2028", "\n")


def draw_code_frames(painter: QPainter, document: QTextDocument, look: Look, within: QRect) -> None:
    """Paint rounded frames; call it before the text is painted. Qt's own frames have square corners."""
    theme, layout = look.theme, document.documentLayout()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.strong_line, 1))
    painter.setBrush(theme.panel if theme.dark else theme.background)
    for frame in code_frames(document):
        box = layout.frameBoundingRect(frame).adjusted(0.5, CODE_TOP_MARGIN + 0.5, -0.5, -CODE_BOTTOM_MARGIN - 0.5)
        if box.intersects(within):
            painter.drawRoundedRect(box, 7, 7)
