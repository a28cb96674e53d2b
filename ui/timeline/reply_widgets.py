"""The text widgets of the replies near the viewport. Widgets that are scrolled away are reused or deleted."""

import re
from collections.abc import Callable
from time import perf_counter
from typing import Final, NamedTuple

from PySide6.QtCore import QRect, QRegularExpression, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QFrame, QTextBrowser, QTextEdit, QToolButton, QWidget

from ui.style.icons import icon
from ui.style.theme import Look, blend
from ui.text.answer_images import AnswerImages, fit_images, image_link_of_path
from ui.text.code_blocks import code_frames, code_text, draw_code_frames
from ui.text.document_formats import CODE_PADDING, COPY_BUTTON
from ui.text.markdown import MarkdownStream
from ui.text.safe_document import SafeDocument

DRAFT: Final = -1
MAX_SPARE: Final = 4
FRAME_MS: Final = 33
# The pause after an update, in multiples of the time it took, so that updates take at most a fifth of the time.
PAUSE_FACTOR: Final = 4
MAX_HIGHLIGHTS: Final = 200
IMAGE: Final = "\ufffc"  # the character that stands for an image in the text of a QTextDocument


class ReplyLink(NamedTuple):
    text: str
    address: str


class ReplyText(QTextBrowser):
    """A reply rendered from Markdown, with selectable text and a copy button on each code block."""

    link_clicked = Signal(str)

    def __init__(self, look: Look, images: AnswerImages, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._images = images
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
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the timeline opens the menu of the row instead
        self.setAccessibleName(self.tr("Reply"))
        self.setDocument(SafeDocument(self))
        self._markdown = MarkdownStream(self.document(), look, file_links=True, images=images)
        self._copy_buttons: list[QToolButton] = []
        self._paused_until = 0.0
        self._highlighted = ""
        self._fitted_width = 0  # the width in pixels to which images were last reduced
        self.anchorClicked.connect(self._on_anchor_clicked)

    def set_markdown(self, text: str, *, finished: bool) -> None:
        """Show `text`. While `finished` is false, only its last block is rendered again."""
        started = perf_counter()
        previous_images = set(self._markdown.image_links)
        if finished:
            self._markdown.finish(text)
        else:
            self._write_tail(text)
        if finished or previous_images != set(self._markdown.image_links):
            self._fitted_width = 0
        now = perf_counter()
        self._paused_until = now + PAUSE_FACTOR * (now - started)

    def _write_tail(self, text: str) -> None:
        """Render the changed blocks and repaint only their area; Qt would also repaint everything above them."""
        layout = self.document().documentLayout()
        were_blocked = layout.blockSignals(True)
        changed_from = self._markdown.write(text)
        layout.blockSignals(were_blocked)
        first_changed = self.document().findBlock(changed_from)
        changed_top = layout.blockBoundingRect(first_changed).top() if changed_from else 0.0
        top = max(0, round(changed_top) - CODE_PADDING)
        self.viewport().update(0, top, self.viewport().width(), self.viewport().height() - top)

    def selected_text(self) -> str:
        """Return the selected text with ordinary line breaks, and with the description in place of each image."""
        selected = self.textCursor().selectedText().replace("\u2029", "\n").replace("\u2028", "\n")
        return selected.replace(f"{IMAGE}\n", "").replace(IMAGE, "")

    def show_image(self, link: str) -> bool:
        """Render the text again if it contains an image with this link; return whether it does."""
        if link not in self._markdown.image_links:
            return False
        self._markdown.restyle(self._look)
        self._fitted_width = 0
        return True

    def links(self) -> list[ReplyLink]:
        """Return the links, in order.

        If an address occurs again, only its first link is included.
        """
        texts: dict[str, str] = {}
        block = self.document().begin()
        while block.isValid():
            fragments = block.begin()
            while not fragments.atEnd():
                fragment = fragments.fragment()
                address, text = fragment.charFormat().anchorHref(), fragment.text().replace(IMAGE, "").strip()
                if address and text:
                    texts.setdefault(address, text)
                fragments += 1
            block = block.next()
        return [ReplyLink(text, address) for address, text in texts.items()]

    @property
    def pause_ms(self) -> int:
        """The milliseconds to wait before the next update, so that slow rendering does not block the window."""
        return max(0, round(1000 * (self._paused_until - perf_counter())))

    def restyle(self, look: Look) -> None:
        self._look = look
        self._markdown.restyle(look)
        self._fitted_width = 0
        self.highlight(self._highlighted)
        for button in self._copy_buttons:
            self._fit_copy_button(button)

    def height_at(self, width: int) -> int:
        """Return the height of the text at a width."""
        document = self.document()
        if self._fitted_width != width and self._markdown.image_links:
            fit_images(document, self._images, self._look, width, self.devicePixelRatioF())
            document.setTextWidth(-1)  # otherwise, the document would keep the layout with the earlier image sizes
        self._fitted_width = width
        if document.textWidth() != width:
            document.setTextWidth(width)
        return round(document.size().height() + 0.5)

    def place_copy_buttons(self) -> None:
        """Place a copy button on each code block."""
        frames = code_frames(self.document())
        while len(self._copy_buttons) < len(frames):
            self._copy_buttons.append(self._create_copy_button())
        layout = self.document().documentLayout()
        for index, button in enumerate(self._copy_buttons):
            button.setVisible(index < len(frames))
            if index < len(frames):
                box = layout.frameBoundingRect(frames[index])
                button.move(round(box.right()) - button.width() - 6, round(box.top()) + 8)

    def highlight(self, query: str) -> QRect | None:
        """Highlight words as the full-text search matches them: whole words, and the last one as a prefix.

        Return the rectangle of the first occurrence of the words in sequence, else of the first highlighted word.
        """
        self._highlighted = query
        *whole_words, last_word = re.findall(r"\w+", query) or [""]
        word_pattern = "|".join([*(rf"\b{word}\b" for word in whole_words), rf"\b{last_word}\w*"])
        word_matches = self._matches(word_pattern, MAX_HIGHLIGHTS) if last_word else []
        self.setExtraSelections(word_matches)
        phrase_matches = self._matches(r"\b" + r"\W+".join([*whole_words, last_word]), 1) if word_matches else []
        return next((self.cursorRect(match.cursor) for match in [*phrase_matches, *word_matches]), None)

    def _matches(self, pattern: str, limit: int) -> list[QTextEdit.ExtraSelection]:
        options, theme = QRegularExpression.PatternOption, self._look.theme
        expression = QRegularExpression(pattern, options.CaseInsensitiveOption | options.UseUnicodePropertiesOption)
        cursor, selections = self.document().find(expression), list[QTextEdit.ExtraSelection]()
        while not cursor.isNull() and len(selections) < limit:
            selection = QTextEdit.ExtraSelection()
            selection.cursor = cursor
            selection.format.setBackground(blend(theme.waiting, theme.background, 0.28))
            selections.append(selection)
            cursor = self.document().find(expression, cursor)
        return selections

    def _create_copy_button(self) -> QToolButton:
        button = QToolButton(self.viewport())
        button.setObjectName("timeline.reply.copy")
        button.setCursor(Qt.CursorShape.ArrowCursor)
        button.setToolTip(self.tr("Copy code"))
        button.setAccessibleName(self.tr("Copy code"))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        index = len(self._copy_buttons)
        button.clicked.connect(lambda: self._copy(index))
        self._fit_copy_button(button)
        return button

    def _fit_copy_button(self, button: QToolButton) -> None:
        size = self._look.size(16)
        button.setIcon(icon("copy", self._look.theme.second, size))
        button.setIconSize(QSize(size, size))
        button.setFixedSize(self._look.size(COPY_BUTTON), self._look.size(COPY_BUTTON))

    def _copy(self, index: int) -> None:
        frames = code_frames(self.document())
        if index < len(frames):
            QGuiApplication.clipboard().setText(code_text(frames[index]))

    def _on_anchor_clicked(self, url: QUrl) -> None:
        self.link_clicked.emit(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))

    # Overridden Qt methods

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:
            draw_code_frames(painter, self.document(), self._look, event.rect())
        super().paintEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # passes the event on to the timeline, which scrolls

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = QKeySequence.StandardKey
        shift = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        extends_selection = shift and self.textCursor().hasSelection()
        if extends_selection or event.matches(keys.Copy) or event.matches(keys.SelectAll):
            super().keyPressEvent(event)
        else:
            event.ignore()


class ReplyWidgets:
    """The reply widgets near the viewport by row; the reply being streamed has the row `DRAFT`.

    `on_link_clicked` gets the address of a link. `update_later` makes the owner measure and place the replies again
    after a number of milliseconds.
    """

    def __init__(
        self,
        parent: QWidget,
        look: Look,
        *,
        on_link_clicked: Callable[[str], None],
        update_later: Callable[[int], None],
    ) -> None:
        self._parent = parent
        self._look = look
        self._on_link_clicked = on_link_clicked
        self._update_later = update_later
        self.images = AnswerImages(parent)
        self.images.changed.connect(self._show_image)
        self._shown: dict[int, ReplyText] = {}
        self._stale: set[int] = set()
        self._needed_rows: set[int] = set()
        self._spare: list[ReplyText] = []

    @property
    def shown(self) -> dict[int, ReplyText]:
        return self._shown

    def mark_changed(self, row: int) -> None:
        """Mark the text of a row as changed, so that it is rendered again."""
        self._stale.add(row)

    def adopt_draft(self, row: int) -> None:
        """Use the widget of the reply that was being streamed for the row of the finished reply."""
        if draft := self._shown.pop(DRAFT, None):
            self._shown[row] = draft
            self._stale.add(row)
        self._stale.discard(DRAFT)

    def reply_height(self, row: int, width: int, read_text: Callable[[], str]) -> int:
        """Return the height of a reply, creating its widget and rendering its text if needed."""
        reply = self._shown.get(row)
        self._needed_rows.add(row)
        if reply is None:
            reply = self._shown[row] = self._take_spare()
            self._stale.add(row)
        if row == DRAFT and row in self._stale and (pause_ms := reply.pause_ms) > FRAME_MS:
            self._update_later(pause_ms)
        elif row in self._stale:
            self._stale.discard(row)
            reply.set_markdown(read_text(), finished=row != DRAFT)
        return reply.height_at(width)

    def place_replies(self, boxes: dict[int, QRect]) -> None:
        """Place the visible replies in their boxes, hide others near the viewport, and reuse or delete the rest."""
        for row in [row for row in self._shown if row not in boxes]:
            reply = self._shown[row]
            # Keep widgets with a selection, so that it survives scrolling.
            if row in self._needed_rows or (row != DRAFT and reply.textCursor().hasSelection()):
                reply.hide()
            else:
                self._recycle(self._shown.pop(row))
        self._needed_rows.clear()
        for row, box in boxes.items():
            reply = self._shown[row]
            if reply.geometry() != box:
                reply.setGeometry(box)
            reply.show()
            reply.place_copy_buttons()

    def highlight(self, row: int, query: str) -> QRect | None:
        """Highlight words in the reply of this row only.

        Return the rectangle of the first match in viewport coordinates; None if there is none.
        """
        self.clear_highlights()
        reply = self._shown.get(row)
        rect = reply.highlight(query) if reply else None
        return rect.translated(reply.pos()) if reply and rect else None

    def clear_highlights(self) -> None:
        for reply in self._shown.values():
            reply.highlight("")

    def clear(self) -> None:
        for reply in self._shown.values():
            self._recycle(reply)
        self._shown.clear()
        self._stale.clear()
        self.images.clear()

    def restyle(self, look: Look) -> None:
        self._look = look
        for reply in [*self._shown.values(), *self._spare]:
            reply.restyle(look)

    def _take_spare(self) -> ReplyText:
        if self._spare:
            return self._spare.pop()
        reply = ReplyText(self._look, self.images, self._parent)
        reply.link_clicked.connect(self._on_link_clicked)
        return reply

    def _show_image(self, path: str) -> None:
        """Show an image that has been loaded in all replies that contain it, and have their rows measured again."""
        shown = [reply.show_image(image_link_of_path(path)) for reply in self._shown.values()]
        if any(shown):
            self._update_later(0)

    def _recycle(self, reply: ReplyText) -> None:
        reply.hide()
        reply.highlight("")
        if len(self._spare) < MAX_SPARE:
            self._spare.append(reply)
        else:
            reply.deleteLater()
