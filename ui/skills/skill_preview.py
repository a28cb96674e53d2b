"""The rendered preview of a skill, which scrolls along with the cursor of the editor."""

from bisect import bisect_right
from typing import Final, NamedTuple

from PySide6.QtCore import QTimer, QUrl, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from ui.style.theme import Look
from ui.text.code_blocks import draw_code_frames
from ui.text.line_grammar import LineState, initial_state, next_state
from ui.text.markdown import BlockPosition, render_with_positions
from ui.text.safe_document import SafeDocument

RENDER_DELAY_MS: Final = 180
# Lines before and after the cursor that are rendered if the text is too long to be rendered in full.
CONTEXT_LINES: Final = 150
MAX_FULL_LINES: Final = 500  # lines; of a longer text, only a part is rendered
MAX_CHARACTERS: Final = 24_000  # characters; of a longer text, only a part is rendered
PADDING: Final = 22
BAR_WIDTH: Final = 3  # pixels; width of the bar beside the block with the cursor


class PreviewSlice(NamedTuple):
    """The part of a text that is rendered, and the number of its first line.

    `is_partial` means that text was left out.
    """

    first_line: int
    text: str
    is_partial: bool

    def contains(self, line: int) -> bool:
        return not self.is_partial or self.first_line <= line < self.first_line + self.text.count("\n")


class BlockEdges(NamedTuple):
    """The y coordinates of the top and the bottom of a block in the document."""

    top: float
    bottom: float


class SkillPreview(QTextBrowser):
    """The preview. It marks the block that contains the editor's cursor, and scrolls to it."""

    link_clicked = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._text = ""
        self._line = 0
        self._slice = PreviewSlice(first_line=0, text="", is_partial=False)
        self._name = ""
        self._description = ""
        self._blocks: list[BlockPosition] = []
        self._stale = False
        self.setObjectName("skill.preview")
        self.setAccessibleName(self.tr("Preview"))
        self.setProperty("bare", True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setDocument(SafeDocument(self))
        self.viewport().setAutoFillBackground(False)
        self.setViewportMargins(PADDING, PADDING - 4, PADDING - 6, PADDING)
        self._render_timer = QTimer(self, singleShot=True, interval=RENDER_DELAY_MS)
        self._render_timer.timeout.connect(self.render_now)
        self.anchorClicked.connect(self._on_anchor_clicked)

    def show_text(self, text: str, line: int) -> None:
        """Render a changed text as soon as the user pauses typing; `line` is the line of the cursor."""
        self._text = text
        self._line = line
        self._stale = True
        if self.isVisible():
            self._render_timer.start()

    def show_new_text(self, text: str) -> None:
        """Render a text that has just been opened, at once, so that the preview of the previous text disappears."""
        self._text = text
        self._line = 0
        self._stale = True
        if self.isVisible():
            self.render_now()
        self.verticalScrollBar().setValue(0)

    def follow_cursor(self, line: int) -> None:
        """Scroll to the block that contains this line of the source, in which the cursor is now, and mark it."""
        if line == self._line:
            return
        self._line = line
        if not self.isVisible() or self._stale:
            return
        if not self._slice.contains(line):
            self._stale = True
            self._render_timer.start()
            return
        self._scroll_to_cursor()

    def render_now(self) -> None:
        """Render the text at once, without waiting for a pause."""
        self._render_timer.stop()
        self._stale = False
        rendered = self._slice = preview_slice(self._text, self._line)
        bar = self.verticalScrollBar().value()
        self._blocks = render_with_positions(self.document(), rendered.text, self._look)
        self.verticalScrollBar().setValue(bar)
        self._scroll_to_cursor()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._stale = True
        self._render_timer.start()

    def _cursor_edges(self) -> BlockEdges | None:
        """Return the edges of the block that contains the cursor; None if none does, as in the front matter."""
        line = self._line - self._slice.first_line
        following = bisect_right([block.line for block in self._blocks], line)
        if following == 0:
            return None
        top = self._top_of(self._blocks[following - 1])
        if following < len(self._blocks):
            return BlockEdges(top, self._top_of(self._blocks[following]))
        return BlockEdges(top, self.document().size().height())

    def _top_of(self, block: BlockPosition) -> float:
        document = self.document()
        return document.documentLayout().blockBoundingRect(document.findBlock(block.position)).top()

    def _scroll_to_cursor(self) -> None:
        edges, bar = self._cursor_edges(), self.verticalScrollBar()
        height = self.viewport().height()
        if edges is None:
            bar.setValue(0)
        elif edges.top < bar.value() or edges.bottom > bar.value() + height:
            bar.setValue(round(edges.top - height / 4))
        self.viewport().update()

    def _on_anchor_clicked(self, url: QUrl) -> None:
        self.link_clicked.emit(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))

    # Overridden Qt methods

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:
            painter.translate(0, -self.verticalScrollBar().value())
            within = event.rect().translated(0, self.verticalScrollBar().value())
            draw_code_frames(painter, self.document(), self._look, within)
        super().paintEvent(event)
        if edges := self._cursor_edges():
            with QPainter(self.viewport()) as painter:
                x = self.viewport().rect().right() - BAR_WIDTH
                y = round(edges.top) - self.verticalScrollBar().value()
                height = max(8, round(edges.bottom - edges.top) - 4)
                painter.fillRect(x, y, BAR_WIDTH, height, self._look.theme.accent)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._stale and self.isVisible():
            self._render_timer.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.render_now()


def preview_slice(text: str, line: int) -> PreviewSlice:
    """Return the part of a text to render: a short text as a whole, else the part around a line.

    If the part would begin inside a code block, an opening fence is put before it.
    """
    lines = text.split("\n")
    body_start = _body_start(lines)
    if len(lines) <= MAX_FULL_LINES and len(text) <= MAX_CHARACTERS:
        return PreviewSlice(body_start, "\n".join(lines[body_start:]), is_partial=False)
    first, last = max(body_start, line - CONTEXT_LINES), min(len(lines), line + CONTEXT_LINES)
    if fence := _open_fence(lines[:first]):
        if fence.line >= first - CONTEXT_LINES:
            first = fence.line
        else:
            first -= 1
            lines[first] = fence.delimiter
    while len("\n".join(lines[first:last])) > MAX_CHARACTERS and last - first > 2:
        if line - first > last - line:
            first += 1
        else:
            last -= 1
    return PreviewSlice(first, "\n".join(lines[first:last]), is_partial=True)


class _OpenFence(NamedTuple):
    line: int
    delimiter: str


def _open_fence(lines: list[str]) -> _OpenFence | None:
    """Return the fence of the code block in which the last line is; None if it is not in one."""
    state = initial_state("SKILL.md")
    fence = None
    for number, line in enumerate(lines):
        was_in_fence = state.region == "fence"
        state = next_state(line, state)
        if state.region != "fence":
            fence = None
        elif not was_in_fence:
            fence = _OpenFence(number, state.open_delimiter)
    return fence


def _body_start(lines: list[str]) -> int:
    """Return the number of the first line after the front matter; 0 if there is no front matter."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    state: LineState = initial_state("SKILL.md")
    for number, line in enumerate(lines):
        state = next_state(line, state)
        if state.region not in {"start", "front"}:
            return number + 1
    return 0
