"""The bar below a diff: how many comments have not been sent, and the agent's reply to those that have been."""

from typing import Final

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtGui import QResizeEvent, QTextOption
from PySide6.QtWidgets import QFrame, QHBoxLayout, QTextBrowser, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.text.markdown import MarkdownStream
from ui.text.safe_document import SafeDocument
from ui.widgets.button import Button
from ui.widgets.compact_row import CompactRow
from ui.widgets.labels import hairline, label

REPLY_HEIGHT: Final = 150


class ReviewBar(QWidget):
    """The bar. It is visible while there are comments that have not been sent, or a reply to those that have been."""

    send_requested = Signal()
    comment_requested = Signal(int)
    """Go to the next (1) or previous (-1) comment."""
    discard_requested = Signal()
    reply_closed = Signal()
    steps_requested = Signal()
    link_clicked = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("changes.drafts")
        self._look = look
        self._reply = ""
        self._title = label("", look.fonts.second, "second", name="changes.reply.title")
        self._reply_view = QTextBrowser()
        self._reply_view.setObjectName("changes.reply")
        self._reply_view.setAccessibleName(self.tr("Reply to your comments"))
        self._reply_view.setFrameShape(QFrame.Shape.NoFrame)
        self._reply_view.setProperty("bare", True)
        self._reply_view.setOpenLinks(False)
        self._reply_view.setDocument(SafeDocument(self._reply_view))
        self._reply_view.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._reply_view.setMaximumHeight(look.size(REPLY_HEIGHT))
        self._markdown = MarkdownStream(self._reply_view.document(), look, file_links=True)
        self._steps = Button(look, self.tr("Show in steps"), name="changes.reply.steps", tone="quiet")
        self._close = Button(look, "", name="changes.reply.close", tone="quiet", icon="x")
        self._close.setAccessibleName(self.tr("Close the reply"))
        self._close.setToolTip(self.tr("Close the reply and remove the sent comments"))
        self._drafts = label("", look.fonts.text, name="changes.drafts.count")
        self._previous = self._create_arrow("changes.drafts.previous", "chevron-up", self.tr("Previous comment"), -1)
        self._next = self._create_arrow("changes.drafts.next", "chevron-down", self.tr("Next comment"), 1)
        self._discard = Button(look, self.tr("Discard"), name="changes.drafts.discard", tone="quiet")
        self._send = Button(look, "", name="changes.send", tone="primary", icon="arrow-up", hint="Ctrl+Enter")
        self._steps.clicked.connect(self.steps_requested)
        self._close.clicked.connect(self.reply_closed)
        self._send.clicked.connect(self.send_requested)
        self._discard.clicked.connect(self.discard_requested)
        self._reply_view.anchorClicked.connect(lambda url: self.link_clicked.emit(url.toString()))
        self._lay_out()
        self.show_drafts(0, "")
        self.show_reply("", "")

    def _create_arrow(self, name: str, icon: str, text: str, by: int) -> Button:
        button = Button(self._look, "", name=name, tone="quiet", icon=icon)
        button.setToolTip(text)
        button.setAccessibleName(text)
        button.clicked.connect(lambda: self.comment_requested.emit(by))
        return button

    def _lay_out(self) -> None:
        self._reply_part, self._draft_part = QWidget(), QWidget()
        top = QHBoxLayout()
        top.setContentsMargins(14, 6, 8, 0)
        top.addWidget(self._title, 1)
        top.addWidget(self._steps)
        top.addWidget(self._close)
        reply = QVBoxLayout(self._reply_part)
        reply.setContentsMargins(0, 0, 0, 0)
        reply.setSpacing(0)
        reply.addWidget(hairline())
        reply.addLayout(top)
        inner = QHBoxLayout()
        inner.setContentsMargins(14, 2, 8, 6)
        inner.addWidget(self._reply_view)
        reply.addLayout(inner)
        drafts = QVBoxLayout(self._draft_part)
        drafts.setContentsMargins(0, 0, 0, 0)
        drafts.setSpacing(0)
        drafts.addWidget(hairline())
        bar = CompactRow(QMargins(14, 7, 12, 7))
        bar.row.addWidget(self._drafts)
        bar.row.addWidget(self._previous)
        bar.row.addWidget(self._next)
        bar.row.addStretch(1)
        bar.row.addWidget(self._discard)
        bar.row.addWidget(self._send)
        drafts.addWidget(bar)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._reply_part)
        column.addWidget(self._draft_part)

    @property
    def drafts_text(self) -> str:
        """How many comments have not been sent."""
        return self._drafts.text()

    def show_drafts(self, count: int, obstacle: str) -> None:
        """Show the number of unsent comments; `obstacle` says why they cannot be sent now, "" that they can."""
        self._draft_part.setVisible(count > 0)
        draft = self.tr("1 comment not sent") if count == 1 else self.tr("{} comments not sent").format(count)
        self._drafts.setText(draft)
        send = self.tr("Send 1 comment") if count == 1 else self.tr("Send {} comments").format(count)
        self._send.setText(send)
        self._send.setAccessibleName(send)
        self._send.updateGeometry()
        self._send.setEnabled(not obstacle)
        self._send.setToolTip(obstacle or self.tr("Send the comments to the agent as one message"))

    def show_reply(self, title: str, text: str) -> None:
        """Show whether the agent works on the comments, and its reply so far; an empty `title` hides both."""
        self._reply_part.setVisible(bool(title))
        self._title.setText(title)
        self._reply_view.setVisible(bool(text))
        if text != self._reply:
            self._reply = text
            self._markdown.finish(text)
            self._fit_reply()

    def restyle(self, look: Look) -> None:
        self._look = look
        for button in (self._steps, self._close, self._previous, self._next, self._discard, self._send):
            button.restyle(look)
        self._title.setFont(look.fonts.second)
        self._drafts.setFont(look.fonts.text)
        self._markdown.restyle(look)
        self._fit_reply()

    def _fit_reply(self) -> None:
        document = self._reply_view.document()
        document.setTextWidth(max(200, self._reply_view.viewport().width()))
        limit = self._look.size(REPLY_HEIGHT)
        self._reply_view.setFixedHeight(min(limit, round(document.size().height()) + 4))
        bar = self._reply_view.verticalScrollBar()
        bar.setValue(bar.maximum())
        needs_bar = document.size().height() + 4 > limit
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if needs_bar else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self._reply_view.setVerticalScrollBarPolicy(policy)

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_reply()
