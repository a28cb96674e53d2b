"""Code blocks in a text document: finding them, reading their text and painting their frames."""

from typing import Final

from PySide6.QtCore import QRect
from PySide6.QtGui import QPainter, QPen, QTextCursor, QTextDocument, QTextFrame, QTextLayout

from ui.style.theme import Look
from ui.text.code_tokens import LANGUAGE_OF_NAME
from ui.text.document_formats import CODE_BOTTOM_MARGIN, CODE_FRAME, CODE_TOP_MARGIN
from ui.text.line_grammar import LineState, line_spans, next_state
from ui.text.syntax_formats import syntax_formats, utf16_range

MAX_COLORED_LINES: Final = 600  # lines of a code block that get syntax colors; later lines get none


def code_frames(document: QTextDocument) -> list[QTextFrame]:
    return [frame for frame in document.rootFrame().childFrames() if frame.frameFormat().hasProperty(CODE_FRAME)]


def code_text(frame: QTextFrame) -> str:
    """Return the text of a code block for copying, with ordinary line breaks."""
    cursor = frame.firstCursorPosition()
    cursor.setPosition(frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
    return cursor.selectedText().replace("\u2029", "\n").replace("\u2028", "\n")


def color_code(frame: QTextFrame, info: str, look: Look) -> None:
    """Apply syntax colors to a code block. `info` is the text after its opening fence, such as `python`."""
    language = LANGUAGE_OF_NAME.get(info.split()[0].casefold(), "") if info.strip() else ""
    if not language:
        return
    formats, state = syntax_formats(look), LineState("code", language=language)
    block, end = frame.firstCursorPosition().block(), frame.lastPosition()
    for _ in range(MAX_COLORED_LINES):
        if not block.isValid() or block.position() > end:
            return
        text, ranges = block.text(), list[QTextLayout.FormatRange]()
        for span in line_spans(text, state):
            if char_format := formats.get(span.kind):
                part = QTextLayout.FormatRange()
                part.start, part.length = utf16_range(text, span)
                part.format = char_format
                ranges.append(part)
        block.layout().setFormats(ranges)
        state = next_state(text, state)
        block = block.next()


def draw_code_frames(painter: QPainter, document: QTextDocument, look: Look, within: QRect) -> None:
    """Paint the rounded frames of code blocks, because Qt's own frames have square corners.

    Call this before the text is painted.
    """
    theme, layout = look.theme, document.documentLayout()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.strong_line, 1))
    painter.setBrush(theme.panel if theme.dark else theme.background)
    for frame in code_frames(document):
        box = layout.frameBoundingRect(frame).adjusted(0.5, CODE_TOP_MARGIN + 0.5, -0.5, -CODE_BOTTOM_MARGIN - 0.5)
        if box.intersects(within):
            painter.drawRoundedRect(box, 7, 7)
