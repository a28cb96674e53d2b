"""The long text of a step: its first lines at once, the rest in pieces when it is asked for."""

from math import ceil
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent, QTextCursor, QWheelEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QVBoxLayout, QWidget

from ui.figures import size
from ui.theme import Look
from ui.timeline.described import Source
from ui.timeline.pages import Rows
from ui.visible import cut_lines, visible
from ui.widgets.button import Button

HEAD_LINES: Final = 200
HEAD_CHARACTERS: Final = 64 * 1024
PIECE: Final = 96 * 1024


class WordsView(QPlainTextEdit):
    """Text that can be selected and copied, not changed."""

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

    def show_words(self, text: str) -> None:
        self.setPlainText(cut_lines(visible(text)))

    def add_words(self, text: str) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(cut_lines(visible(text)))


class FittedWords(WordsView):
    """As high as its text; what holds it scrolls."""

    def __init__(self, look: Look, text: str, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(look, name, parent)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.show_words(text)

    def fit(self) -> None:
        layout, block, tall = self.document().documentLayout(), self.document().begin(), 0.0
        while block.isValid():  # a block that was not laid out yet counts as one line, however long it is
            tall += layout.blockBoundingRect(block).height()
            block = block.next()
        self.setFixedHeight(ceil(max(tall, self.fontMetrics().lineSpacing())) + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class OutputTab(QWidget):
    """First lines, and *Open all (12.4 MB)*."""

    def __init__(self, look: Look, rows: Rows, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self._session = ""
        self._source: Source | None = None
        self._rest = ""
        self._at = 0
        self._text = WordsView(look, "step.output")
        self._text.setAccessibleName(self.tr("Output"))
        self._text.setAccessibleName(self.tr("Output"))
        self._all = Button(look, "", name="step.output.all")
        self._all.clicked.connect(self.open_all)
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

    def show_source(self, session: str, source: Source | None) -> str:
        """Show the first lines; return them, for the summary."""
        self._next.stop()
        self._session, self._source = session, source
        self._rest, self._at = "", 0
        head = self._rows.words(session, source.seq, source.field, HEAD_CHARACTERS) if source else ""
        lines = head.split("\n", HEAD_LINES)
        shown = "\n".join(lines[:HEAD_LINES])
        self._at = len(shown)
        self._text.show_words(shown)
        more = source is not None and (len(lines) > HEAD_LINES or len(head) >= HEAD_CHARACTERS)
        self._all.setVisible(more)
        if source and more:
            self._all.setEnabled(True)
            self._all.setText(self.tr("Open all ({})").format(size(source.size)))
        return shown

    def open_all(self) -> None:
        """Read the whole, and add it a piece at a time so that the window stays quick."""
        if self._source:
            self._rest = self._rows.words(self._session, self._source.seq, self._source.field)
            self._all.setEnabled(False)
            self._add_piece()

    def restyle(self, look: Look) -> None:
        self._text.setFont(look.fonts.mono)
        self._all.restyle(look)

    def _add_piece(self) -> None:
        end = min(len(self._rest), self._at + PIECE)
        line_end = self._rest.rfind("\n", self._at, end)
        if end < len(self._rest) and line_end > self._at:
            end = line_end  # a line is cut as a whole or not at all
        self._text.add_words(self._rest[self._at : end])
        self._at = end
        if self._at < len(self._rest):
            self._all.setText(self.tr("Opening… {} %").format(100 * self._at // len(self._rest)))
            self._next.start()
        else:
            self._rest = ""
            self._all.hide()
