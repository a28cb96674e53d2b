"""Words on the screen: plain labels, and the field that a person writes in."""

import re
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFont, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QSizePolicy, QWidget

ENTER_KEYS: Final = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})


def label(text: str, font: QFont, tone: str = "", *, name: str = "", wrap: bool = False) -> QLabel:
    """A label that never reads its text as markup, whoever wrote it."""
    made = QLabel()
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setFont(font)
    made.setText(breakable(text) if wrap else text)
    made.setWordWrap(wrap)
    if tone:
        made.setProperty("tone", tone)
    if name:
        made.setObjectName(name)
    if wrap:
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        made.setSizePolicy(policy)
    return made


def breakable(text: str) -> str:
    """Let a label break a path or an address that is longer than its line, instead of widening the window."""
    return re.sub(r"(\S{24})(?=\S)", "\\1\u200b", text)


def surface(kind: str, parent: QWidget | None = None) -> QFrame:
    """A frame that the style sheet fills and edges: panel, card, well, input or line."""
    made = QFrame(parent)
    made.setProperty("surface", kind)
    return made


def hairline() -> QFrame:
    made = surface("line")
    made.setFixedHeight(1)
    return made


class WordsField(QPlainTextEdit):
    """A bare text field that grows with its lines; Enter hands over, Shift+Enter starts a line."""

    entered = Signal()
    focus_changed = Signal(bool)

    def __init__(self, font: QFont, *, lines: int, least: int = 1, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines, self._least = lines, least
        self.setProperty("bare", True)
        self.setFont(font)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.textChanged.connect(self.fit)
        self.fit()

    def words(self) -> str:
        return self.toPlainText().strip()

    def set_font(self, font: QFont) -> None:
        self.setFont(font)
        self.viewport().setFont(font)  # the placeholder is painted in it, and under a style sheet it keeps the former
        self.fit()

    def setPlaceholderText(self, text: str) -> None:
        """Qt paints it anew only when it comes or goes: other words would not be seen."""
        super().setPlaceholderText(text)
        self.viewport().update()

    def fit(self) -> None:
        """Take the height of the text, up to the limit; scroll only beyond it."""
        needed = round(self.document().size().height())
        shown = max(self._least, min(needed, self._lines))
        over = needed > self._lines
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if over else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        self.setFixedHeight(self.fontMetrics().lineSpacing() * shown + 2)

    def sizeHint(self) -> QSize:
        return QSize(240, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER_KEYS and event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        ):
            self.entered.emit()
            event.accept()
            return
        if event.key() == Qt.Key.Key_Escape:
            event.ignore()
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.fit()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit(False)
