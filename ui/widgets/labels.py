"""Plain-text labels, frames with a style of the style sheet, and a text field that grows."""

import re
from typing import Final, NamedTuple

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFont, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QSizePolicy, QVBoxLayout, QWidget

from ui.style.theme import set_style_properties

ENTER_KEYS: Final = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})
ZERO_WIDTH_SPACE: Final = "\u200b"


class BreakableLabel(QLabel):
    """A label that screen readers read without the zero-width spaces from `allow_breaks`."""

    _own_name = ""  # the accessible name that is derived from the text

    def setText(self, text: str) -> None:
        super().setText(text)
        if self.accessibleName() == self._own_name:
            self._own_name = text.replace(ZERO_WIDTH_SPACE, "") if ZERO_WIDTH_SPACE in text else ""
            self.setAccessibleName(self._own_name)


def label(text: str, font: QFont, tone: str = "", *, name: str = "", wrap: bool = False) -> QLabel:
    """Return a label that shows its text literally, without interpreting it as markup."""
    widget = BreakableLabel()
    widget.setTextFormat(Qt.TextFormat.PlainText)
    widget.setFont(font)
    widget.setText(allow_breaks(text) if wrap else text)
    widget.setWordWrap(wrap)
    if tone:
        widget.setProperty("tone", tone)
    if name:
        widget.setObjectName(name)
    if wrap:
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        widget.setSizePolicy(policy)
    return widget


def hide_unless(widget: QWidget, visible: bool) -> None:
    """Hide a new widget if it should not be `visible`; otherwise, leave it to its parent to show it.

    `setVisible(True)` would show a widget without a parent at once, as a window that takes the keyboard focus until a
    layout gives the widget a parent.
    """
    if not visible:
        widget.hide()


def allow_breaks(text: str) -> str:
    """Insert zero-width spaces into long words, so that paths and URLs wrap and do not widen the window."""
    return re.sub(r"(\S{24})(?=\S)", f"\\1{ZERO_WIDTH_SPACE}", text)


def error_text(*parts: str) -> str:
    """Join the parts of an error for a plain label. The backticks around commands and names are removed."""
    return allow_breaks(re.sub(r"`([^`\n]+)`", r"\1", " ".join(part for part in parts if part)))


def styled_frame(kind: str, parent: QWidget | None = None) -> QFrame:
    """Return a frame styled by the style sheet; `kind` is panel, card, well, field, input or line."""
    frame = QFrame(parent)
    frame.setProperty("surface", kind)
    return frame


class FramedText(NamedTuple):
    """A text widget, and the frame that contains it."""

    frame: QFrame
    text: QPlainTextEdit


def read_only_text(text: str, font: QFont, *, name: str, accessible_name: str) -> FramedText:
    """Return a text that the user can scroll, select and copy."""
    widget = QPlainTextEdit(text)
    widget.setObjectName(name)
    widget.setAccessibleName(accessible_name)
    widget.setReadOnly(True)
    widget.setTabChangesFocus(True)
    widget.setProperty("bare", True)
    widget.setFrameShape(QFrame.Shape.NoFrame)
    widget.document().setDocumentMargin(0)
    widget.setFont(font)
    frame = styled_frame("well")
    layout = QVBoxLayout(frame)
    layout.setContentsMargins(10, 7, 10, 7)
    layout.addWidget(widget)
    return FramedText(frame, widget)


def show_focus_on(frame: QFrame, field: "TextField") -> None:
    """Highlight the frame around a text field while the field has the focus."""
    field.focus_changed.connect(lambda on: set_style_properties(frame, focused=on))


def framed_field(field: "TextField") -> QFrame:
    """Put the field of a form into a frame that looks like the other fields."""
    frame = styled_frame("field")
    show_focus_on(frame, field)
    inside = QVBoxLayout(frame)
    inside.setContentsMargins(10, 5, 10, 5)
    inside.addWidget(field)
    return frame


def hairline() -> QFrame:
    frame = styled_frame("line")
    frame.setFixedHeight(1)
    return frame


class TextField(QPlainTextEdit):
    """A text field without a frame that grows with its text.

    Enter emits `entered`, Shift+Enter inserts a line break. With `enter_breaks_line`, Enter inserts one too.
    """

    entered = Signal()
    focus_changed = Signal(bool)

    def __init__(
        self,
        font: QFont,
        *,
        max_lines: int,
        min_lines: int = 1,
        enter_breaks_line: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._enter_breaks_line = enter_breaks_line
        self._max_lines = max_lines
        self._min_lines = min_lines
        self.setProperty("bare", True)
        self.setFont(font)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.textChanged.connect(self.fit_height)
        self.fit_height()

    def stripped_text(self) -> str:
        return self.toPlainText().strip()

    def apply_font(self, font: QFont) -> None:
        self.setFont(font)
        # For the placeholder, because with a style sheet the viewport does not inherit the font.
        self.viewport().setFont(font)
        self.fit_height()

    def setPlaceholderText(self, text: str) -> None:
        """Set the placeholder and repaint, because Qt does not repaint if only the text of the placeholder changes."""
        super().setPlaceholderText(text)
        self.fit_height()
        self.viewport().update()

    def fit_height(self) -> None:
        """Set the height to that of the text or placeholder, at most `max_lines` lines; a longer text scrolls."""
        text_lines = round(self.document().size().height())
        if self.document().isEmpty():
            text_lines = max(text_lines, min(self._placeholder_lines(), self._max_lines))
        visible_lines = max(self._min_lines, min(text_lines, self._max_lines))
        overflows = text_lines > self._max_lines
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if overflows else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        before = self.viewport().size()
        self.setVerticalScrollBarPolicy(policy)
        self.setFixedHeight(self.fontMetrics().lineSpacing() * visible_lines + 2)
        if self.viewport().width() != before.width():
            # Qt does not wrap the text again if a scroll bar appears during a resize, and would cut its lines off.
            super().resizeEvent(QResizeEvent(self.viewport().size(), before))

    def _placeholder_lines(self) -> int:
        metrics, room = self.fontMetrics(), QRect(0, 0, max(1, self.viewport().width()), 1)
        wrapped = metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, self.placeholderText())
        return round(wrapped.height() / metrics.lineSpacing())

    def sizeHint(self) -> QSize:
        return QSize(240, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if event.key() in ENTER_KEYS and event.modifiers() in plain and not self._enter_breaks_line:
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
            self.fit_height()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit(False)
