"""The replies on screen as real text: selectable, copyable, and gone when they are scrolled away."""

import re
from collections.abc import Callable
from time import perf_counter
from typing import Final

from PySide6.QtCore import QRect, QRegularExpression, Qt, QUrl, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QFrame, QTextBrowser, QTextEdit, QToolButton, QWidget

from ui.code_boxes import code_frames, code_of, draw_code_boxes
from ui.document_formats import BOX_PADDING
from ui.icons import icon
from ui.markdown import Flow
from ui.safe_document import SafeDocument
from ui.theme import Look, blend

DRAFT: Final = -1
SPARE: Final = 4
FRAME_MS: Final = 33
REST: Final = 4  # a draft may take a fifth of the window's time
MOST_MARKS: Final = 200


class ReplyText(QTextBrowser):
    """One reply: Markdown that can be selected, with a copy button on each box of code."""

    link = Signal(str)

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("timeline.reply")
        self.setProperty("bare", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_StaticContents)
        self.setAttribute(Qt.WidgetAttribute.WA_StaticContents)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setOpenLinks(False)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setAccessibleName(self.tr("Reply"))
        self.setDocument(SafeDocument(self))
        self._flow = Flow(self.document(), look)
        self._copies: list[QToolButton] = []
        self._rests_until = 0.0
        self.anchorClicked.connect(self._follow)

    def write(self, text: str, *, finished: bool) -> None:
        """Show `text`; while it is not finished only its last block is written again."""
        began = perf_counter()
        if finished:
            self._flow.finish(text)
        else:
            self._write_tail(text)
        now = perf_counter()
        self._rests_until = now + REST * (now - began)

    def _write_tail(self, text: str) -> None:
        """Repaint from the first block that changes: Qt would repaint everything above it too."""
        layout = self.document().documentLayout()
        blocked = layout.blockSignals(True)
        changed = self._flow.write(text)
        layout.blockSignals(blocked)
        top = layout.blockBoundingRect(self.document().findBlock(changed)).top() if changed else 0.0
        above = max(0, round(top) - BOX_PADDING)
        self.viewport().update(0, above, self.viewport().width(), self.viewport().height() - above)

    @property
    def rest_ms(self) -> int:
        """How long a reply that is slow to write waits for more, so that the window has time for the person."""
        return max(0, round(1000 * (self._rests_until - perf_counter())))

    def restyle(self, look: Look) -> None:
        self._look = look
        self._flow.restyle(look)

    def height_at(self, width: int) -> int:
        """How tall the text is at this width."""
        document = self.document()
        if document.textWidth() != width:
            document.setTextWidth(width)
        return round(document.size().height() + 0.5)

    def place_copies(self) -> None:
        """Put a button on each box of code."""
        frames = code_frames(self.document())
        while len(self._copies) < len(frames):
            self._copies.append(self._copy_button())
        layout = self.document().documentLayout()
        for place, button in enumerate(self._copies):
            button.setVisible(place < len(frames))
            if place < len(frames):
                box = layout.frameBoundingRect(frames[place])
                button.move(round(box.right()) - button.width() - 6, round(box.top()) + 8)

    def mark(self, words: str) -> QRect | None:
        """Mark these words, as the store finds them: whole, but for the last; where they are, at best side by side."""
        *whole, last = re.findall(r"\w+", words) or [""]
        each = "|".join([*(rf"\b{word}\b" for word in whole), rf"\b{last}\w*"])
        marked = self._found(each, MOST_MARKS) if last else []
        self.setExtraSelections(marked)
        together = self._found(r"\b" + r"\W+".join([*whole, last]), 1) if marked else []
        return next((self.cursorRect(mark.cursor) for mark in [*together, *marked]), None)

    def _found(self, pattern: str, most: int) -> list[QTextEdit.ExtraSelection]:
        options, theme = QRegularExpression.PatternOption, self._look.theme
        wanted = QRegularExpression(pattern, options.CaseInsensitiveOption | options.UseUnicodePropertiesOption)
        found, marks = self.document().find(wanted), list[QTextEdit.ExtraSelection]()
        while not found.isNull() and len(marks) < most:
            mark = QTextEdit.ExtraSelection()
            mark.cursor = found
            mark.format.setBackground(blend(theme.waiting, theme.background, 0.28))
            marks.append(mark)
            found = self.document().find(wanted, found)
        return marks

    def _copy_button(self) -> QToolButton:
        button = QToolButton(self.viewport())
        button.setObjectName("timeline.reply.copy")
        button.setIcon(icon("copy", self._look.theme.second, 16))
        button.setFixedSize(26, 26)
        button.setCursor(Qt.CursorShape.ArrowCursor)
        button.setToolTip(self.tr("Copy this code"))
        button.setAccessibleName(self.tr("Copy this code"))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        place = len(self._copies)
        button.clicked.connect(lambda: self._copy(place))
        return button

    def _copy(self, place: int) -> None:
        frames = code_frames(self.document())
        if place < len(frames):
            QGuiApplication.clipboard().setText(code_of(frames[place]))

    def _follow(self, url: QUrl) -> None:
        self.link.emit(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))

    # Qt

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:
            draw_code_boxes(painter, self.document(), self._look, event.rect())
        super().paintEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the timeline scrolls, not the reply

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = QKeySequence.StandardKey
        widens = event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self.textCursor().hasSelection()
        if widens or event.matches(keys.Copy) or event.matches(keys.SelectAll):
            super().keyPressEvent(event)
        else:
            event.ignore()


class Replies:
    """A text widget for each reply near the screen, by row; the draft's row is `DRAFT`."""

    def __init__(
        self, parent: QWidget, look: Look, follow: Callable[[str], None], later: Callable[[int], None]
    ) -> None:
        self._later = later
        self._parent = parent
        self._look = look
        self._follow = follow
        self._shown: dict[int, ReplyText] = {}
        self._stale: set[int] = set()
        self._near: set[int] = set()
        self._spare: list[ReplyText] = []

    @property
    def shown(self) -> dict[int, ReplyText]:
        return self._shown

    def change(self, row: int) -> None:
        """The text of this row is not what it was."""
        self._stale.add(row)

    def settle(self, row: int) -> None:
        """The draft became a row: the same widget goes on."""
        if draft := self._shown.pop(DRAFT, None):
            self._shown[row] = draft
            self._stale.add(row)
        self._stale.discard(DRAFT)

    def height(self, row: int, width: int, words: Callable[[], str]) -> int:
        """How tall the reply is; its widget is made when it is not there."""
        reply = self._shown.get(row)
        self._near.add(row)
        if reply is None:
            reply = self._shown[row] = self._take()
            self._stale.add(row)
        if row in self._stale:
            if row == DRAFT and (rest_ms := reply.rest_ms) > FRAME_MS:
                self._later(rest_ms)
            else:
                self._stale.discard(row)
                reply.write(words(), finished=row != DRAFT)
        return reply.height_at(width)

    def place(self, boxes: dict[int, QRect]) -> None:
        """Put each reply in its box; hide those just outside the screen, and let go of those that are far."""
        for row in [row for row in self._shown if row not in boxes]:
            reply = self._shown[row]
            # What a person selected stays selected while it is out of sight.
            if row in self._near or (row != DRAFT and reply.textCursor().hasSelection()):
                reply.hide()
            else:
                self._give_back(self._shown.pop(row))
        self._near.clear()
        for row, box in boxes.items():
            reply = self._shown[row]
            if reply.geometry() != box:
                reply.setGeometry(box)
            reply.show()
            reply.place_copies()

    def mark(self, row: int, words: str) -> QRect | None:
        """Mark words in the reply of this row alone; where the first of them stand on the screen."""
        self.unmark()
        reply = self._shown.get(row)
        place = reply.mark(words) if reply else None
        return place.translated(reply.pos()) if reply and place else None

    def unmark(self) -> None:
        for reply in self._shown.values():
            reply.setExtraSelections([])

    def clear(self) -> None:
        for reply in self._shown.values():
            self._give_back(reply)
        self._shown.clear()
        self._stale.clear()

    def restyle(self, look: Look) -> None:
        self._look = look
        for reply in [*self._shown.values(), *self._spare]:
            reply.restyle(look)

    def _take(self) -> ReplyText:
        if self._spare:
            return self._spare.pop()
        reply = ReplyText(self._look, self._parent)
        reply.link.connect(self._follow)
        return reply

    def _give_back(self, reply: ReplyText) -> None:
        reply.hide()
        reply.setExtraSelections([])
        if len(self._spare) < SPARE:
            self._spare.append(reply)
        else:
            reply.deleteLater()
