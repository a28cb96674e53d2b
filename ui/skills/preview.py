"""The text as a person would read it, in step with the cursor beside it."""

from bisect import bisect_right
from typing import Final, NamedTuple

from PySide6.QtCore import QTimer, QUrl, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from ui.code_boxes import draw_code_boxes
from ui.markdown import render_with_places
from ui.safe_document import SafeDocument
from ui.skills.grammar import State, after, beginning
from ui.theme import Look

WAIT_MS: Final = 180
AROUND: Final = 150  # lines before and behind the cursor, where a text is too long to show all of it
WHOLE: Final = 500  # lines up to which all is shown
SIGNS: Final = 24_000
PAD: Final = 22
BAR: Final = 3


class Slice(NamedTuple):
    """The part of a text that is shown, and the line it begins on."""

    first: int
    text: str
    cut: bool


class Preview(QTextBrowser):
    """Follows the cursor: the part that is written at is marked, and is brought on screen."""

    link = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._text, self._line, self._shown = "", 0, Slice(0, "", False)
        self._name, self._description = "", ""
        self._places: list[tuple[int, int]] = []
        self._stale = False
        self.setObjectName("skill.preview")
        self.setAccessibleName(self.tr("Preview"))
        self.setProperty("bare", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setDocument(SafeDocument(self))
        self.viewport().setAutoFillBackground(False)
        self.setViewportMargins(PAD, PAD - 4, PAD - 6, PAD)
        self._soon = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._soon.timeout.connect(self.render_now)
        self.anchorClicked.connect(self._follow)

    def show_text(self, text: str, line: int) -> None:
        """It changed, or is another; it is shown when the keys rest."""
        self._text, self._line, self._stale = text, line, True
        if self.isVisible():
            self._soon.start()

    def begin(self, text: str) -> None:
        """Another text: what was shown before must not stand beside it."""
        self._text, self._line, self._stale = text, 0, True
        if self.isVisible():
            self.render_now()
        self.verticalScrollBar().setValue(0)

    def follow(self, line: int) -> None:
        """The cursor is on another line."""
        same, self._line = line == self._line, line
        if same or not self.isVisible() or self._stale:
            return
        shown = self._shown
        if shown.cut and not shown.first <= line < shown.first + shown.text.count("\n"):
            self._stale = True
            self._soon.start()
            return
        self._bring()

    def render_now(self) -> None:
        """What is to be shown, at once."""
        self._soon.stop()
        self._stale = False
        shown = self._shown = around(self._text, self._line)
        bar = self.verticalScrollBar().value()
        self._places = render_with_places(self.document(), shown.text, self._look)
        self.verticalScrollBar().setValue(bar)
        self._bring()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._stale = True
        self._soon.start()

    def _block(self) -> int:
        """Which block the cursor is in; -1 in none, as in the front matter."""
        return bisect_right([line for line, _ in self._places], self._line - self._shown.first) - 1

    def _edges(self, block: int) -> tuple[float, float]:
        """Top and bottom of a block of the text."""
        layout, document = self.document().documentLayout(), self.document()
        top = layout.blockBoundingRect(document.findBlock(self._places[block][1])).top()
        if block + 1 < len(self._places):
            return top, layout.blockBoundingRect(document.findBlock(self._places[block + 1][1])).top()
        return top, document.size().height()

    def _bring(self) -> None:
        block, bar = self._block(), self.verticalScrollBar()
        if block < 0:
            bar.setValue(0)
        else:
            top, bottom = self._edges(block)
            height = self.viewport().height()
            if top < bar.value() or bottom > bar.value() + height:
                bar.setValue(round(top - height / 4))
        self.viewport().update()

    def _follow(self, url: QUrl) -> None:
        self.link.emit(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))

    # Qt

    def paintEvent(self, event: QPaintEvent) -> None:
        block = self._block()
        with QPainter(self.viewport()) as painter:
            painter.translate(0, -self.verticalScrollBar().value())
            within = event.rect().translated(0, self.verticalScrollBar().value())
            draw_code_boxes(painter, self.document(), self._look, within)
        super().paintEvent(event)
        if 0 <= block < len(self._places):
            top, bottom = self._edges(block)
            with QPainter(self.viewport()) as painter:
                y = round(top) - self.verticalScrollBar().value()
                place = self.viewport().rect()
                painter.fillRect(place.right() - BAR, y, BAR, max(8, round(bottom - top) - 4), self._look.theme.accent)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._stale and self.isVisible():
            self._soon.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.render_now()


def around(text: str, line: int) -> Slice:
    """What is shown of a text: all of it, or the part around a line, begun where no code is open."""
    lines = text.split("\n")
    body = _body(lines)
    if len(lines) <= WHOLE and len(text) <= SIGNS:
        return Slice(body, "\n".join(lines[body:]), False)
    first, last = max(body, line - AROUND), min(len(lines), line + AROUND)
    state = beginning("SKILL.md")
    opened = -1
    for number, each in enumerate(lines[:first]):
        before, state = state, after(each, state)
        if state.where == "fence" and before.where != "fence":
            opened = number
    if state.where == "fence":
        first = max(opened, first - AROUND) if opened >= first - AROUND else first
        if first != opened:
            lines[first - 1] = f"{state.open}"
            first -= 1
    while len("\n".join(lines[first:last])) > SIGNS and last - first > 2:
        first, last = (first + 1, last) if line - first > last - line else (first, last - 1)
    return Slice(first, "\n".join(lines[first:last]), True)


def _body(lines: list[str]) -> int:
    """The line behind the front matter."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    state: State = beginning("SKILL.md")
    for number, line in enumerate(lines):
        state = after(line, state)
        if state.where not in {"start", "front"}:
            return number + 1
    return 0
