"""The Output tab of the step pane: the first lines of a text and, on request, the rest, which is appended in pieces."""

from math import ceil
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent, QTextCursor, QWheelEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QVBoxLayout, QWidget

from ui.style.number_formats import size
from ui.style.theme import Look
from ui.text.visible import cut_lines, strip_colors, visible
from ui.timeline.step_details import TextSource
from ui.timeline.step_pages import StepSource
from ui.widgets.button import Button

FIRST_LINES: Final = 200
FIRST_CHARACTERS: Final = 64 * 1024
PIECE_CHARACTERS: Final = 96 * 1024


class TextView(QPlainTextEdit):
    """A read-only text view."""

    def __init__(self, look: Look, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setReadOnly(True)
        self.setProperty("bare", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUndoRedoEnabled(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFont(look.fonts.mono)
        self.setWordWrapMode(self.wordWrapMode().WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(0)

    def show_text(self, text: str) -> None:
        self.setPlainText(cut_lines(visible(strip_colors(text))))

    def append_text(self, text: str) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(cut_lines(visible(strip_colors(text))))


class FittedTextView(TextView):
    """A text view that is as high as its text, so that its parent scrolls instead."""

    def __init__(self, look: Look, text: str, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(look, name, parent)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.show_text(text)

    def fit_height(self) -> None:
        layout, block, text_height = self.document().documentLayout(), self.document().begin(), 0.0
        while block.isValid():  # forces the layout of each block; without it, a block counts as one line
            text_height += layout.blockBoundingRect(block).height()
            block = block.next()
        self.setFixedHeight(ceil(max(text_height, self.fontMetrics().lineSpacing())) + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.fit_height()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class OutputTab(QWidget):
    """Shows the first lines of an output, with a button to load the rest."""

    def __init__(self, look: Look, rows: StepSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self._session = ""
        self._source: TextSource | None = None
        self._full_text = ""
        self._loaded = 0
        self._text = TextView(look, "step.output")
        self._text.setAccessibleName(self.tr("Output"))
        self._all = Button(look, "", name="step.output.all")
        self._all.clicked.connect(self.show_all)
        self._all.hide()
        self._next = QTimer(self, interval=0, singleShot=True)
        self._next.timeout.connect(self._add_piece)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 8, 12)
        layout.setSpacing(10)
        layout.addWidget(self._text, 1)
        layout.addWidget(self._all)

    @property
    def text(self) -> QPlainTextEdit:
        return self._text

    def show_source(self, session: str, source: TextSource | None) -> str:
        """Show the first lines of a text, and return them for the Summary tab."""
        self._next.stop()
        self._session, self._source = session, source
        self._full_text, self._loaded = "", 0
        first_characters = self._rows.full_text(session, source.seq, source.field, FIRST_CHARACTERS) if source else ""
        lines = first_characters.split("\n", FIRST_LINES)
        first_lines = "\n".join(lines[:FIRST_LINES])
        self._loaded = len(first_lines)
        self._text.show_text(first_lines)
        has_more = source is not None and (len(lines) > FIRST_LINES or len(first_characters) >= FIRST_CHARACTERS)
        self._all.setVisible(has_more)
        if source and has_more:
            self._all.setEnabled(True)
            self._all.setText(self.tr("Show all ({})").format(size(source.size)))
        return first_lines

    def show_all(self) -> None:
        """Read the full text and append it in pieces, so that the window stays responsive."""
        if self._source:
            self._full_text = self._rows.full_text(self._session, self._source.seq, self._source.field)
            self._all.setEnabled(False)
            self._add_piece()

    def restyle(self, look: Look) -> None:
        self._text.setFont(look.fonts.mono)
        self._all.restyle(look)

    def _add_piece(self) -> None:
        end = min(len(self._full_text), self._loaded + PIECE_CHARACTERS)
        line_end = self._full_text.rfind("\n", self._loaded, end)
        if end < len(self._full_text) and line_end > self._loaded:
            end = line_end  # because `cut_lines` needs complete lines
        self._text.append_text(self._full_text[self._loaded : end])
        self._loaded = end
        if self._loaded < len(self._full_text):
            self._all.setText(self.tr("Loading… {}%").format(100 * self._loaded // len(self._full_text)))
            self._next.start()
        else:
            self._full_text = ""
            self._all.hide()
