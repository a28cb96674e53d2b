"""One thing that somebody wants to be remembered: beside what stands there, kept, edited first, or rejected."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.domain.memory import LONGEST
from core.domain.proposal import Proposal
from core.timeline.difference import difference
from ui.memory.link import LinkLine
from ui.memory.versions import lines_height
from ui.memory.words import TitleOf, in_lines, kind_words, tr, wanted_kind, wanted_words
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.difference_view import DifferenceView
from ui.widgets.words import WordsField, hairline, label, surface

SIDE: Final = 16


class ProposalCard(QWidget):
    """`decided` is keep or reject, with the text that was edited first, or None."""

    decided = Signal(str, object)
    go_to = Signal(str, int)

    def __init__(self, look: Look, title_of: TitleOf) -> None:
        super().__init__()
        self._title_of = title_of
        self._look = look
        self.proposal: Proposal | None = None
        self.setObjectName("memory.proposal")
        self._title = label("", look.fonts.bold, name="memory.proposal.title", wrap=True)
        self._text = label("", look.fonts.title, name="memory.proposal.text", wrap=True)
        self._lines = DifferenceView(look)
        self._lines.setObjectName("memory.proposal.lines")
        self._field = WordsField(look.fonts.text, lines=10, least=3)
        self._field.setObjectName("memory.proposal.field")
        self._field.setAccessibleName(tr("What to remember"))
        self._well = surface("input")
        self._reason = label("", look.fonts.text, name="memory.proposal.reason", wrap=True)
        self._strange = label("", look.fonts.second, "waiting", name="memory.proposal.taint", wrap=True)
        self._source = LinkLine(look, "", name="memory.proposal.source", told=tr("Show where it comes from"))
        self._keep = Button(look, tr("Keep"), name="memory.proposal.keep", tone="primary")
        self._edit = Button(look, tr("Edit first"), name="memory.proposal.edit")
        self._reject = Button(look, tr("Reject"), name="memory.proposal.reject")
        self._lay_out()
        for button, key, deed in (
            (self._keep, "Y", self.keep), (self._edit, "E", self.edit), (self._reject, "N", self.reject),
        ):  # fmt: skip
            button.setToolTip(f"{button.text()} ({key})")
            button.clicked.connect(deed)
        self._field.entered.connect(self.keep)
        self._field.textChanged.connect(self._weigh)
        self._source.clicked.connect(self._show_source)

    def show_proposal(self, proposal: Proposal, before: str | None) -> None:
        """`before` is what stands there now; None for nothing."""
        if self.proposal is not None and self.proposal.id == proposal.id and self.editing:
            return  # what is being written stays
        self.proposal = proposal
        kind = wanted_kind(proposal)
        named = kind_words(kind) if kind else tr("memory")
        self._title.setText(f"{wanted_words(proposal).capitalize()} · {named}")
        text = proposal.text or before or ""
        self._text.setText(visible(text))
        changes = before is not None and bool(proposal.text) and before != proposal.text
        self._text.show()
        self._lines.setVisible(changes)
        if changes:
            found = difference(in_lines(before or ""), in_lines(proposal.text))
            self._lines.show_difference(found, beside=False, undoable=False)
            self._lines.setFixedHeight(lines_height(self._look, self._lines))
        self._well.hide()
        self._reason.setText(f"“{visible(proposal.reason)}”" if proposal.reason else "")
        self._reason.setVisible(bool(proposal.reason))
        strangers = ", ".join(visible(one) for one in proposal.taint)
        self._strange.setText(tr("The run had read words of strangers before: {}").format(strangers))
        self._strange.setVisible(bool(strangers))
        self._source.say(self._source_words(proposal))
        self._source.setVisible(bool(self._source.text()))
        self._edit.setVisible(proposal.what != "archive")
        self._edit.setEnabled(True)
        self._weigh()

    @property
    def editing(self) -> bool:
        return not self._well.isHidden()

    def focus_first(self) -> None:
        """The keyboard comes here."""
        (self._field if self.editing else self._keep).setFocus(Qt.FocusReason.TabFocusReason)

    def keep(self) -> None:
        if self.proposal and self._keep.isEnabled():
            self.decided.emit("keep", self._field.words() if self.editing else None)

    def reject(self) -> None:
        if self.proposal:
            self.decided.emit("reject", None)

    def edit(self) -> None:
        """Its words in a field; Keep keeps them as they are written then."""
        if self.proposal and not self.editing and not self._edit.isHidden():
            self._field.setPlainText(self.proposal.text)
            self._text.hide()
            self._well.show()
            self._edit.setEnabled(False)
            self._field.setFocus(Qt.FocusReason.OtherFocusReason)

    def drop(self) -> None:
        """It is decided."""
        self.proposal = None
        self._well.hide()

    def restyle(self, look: Look) -> None:
        self._look = look
        fonts = look.fonts
        for words, font in ((self._title, fonts.bold), (self._text, fonts.title), (self._reason, fonts.text)):
            words.setFont(font)
        self._strange.setFont(fonts.second)
        self._field.set_font(fonts.text)
        for part in (self._keep, self._edit, self._reject, self._source):
            part.restyle(look)
        self._lines.restyle(look)
        self._lines.setFixedHeight(lines_height(look, self._lines))

    def _weigh(self) -> None:
        words = self._field.words()
        self._keep.setEnabled(not self.editing or 0 < len(words) <= LONGEST)

    def _source_words(self, proposal: Proposal) -> str:
        title = visible(self._title_of(proposal.session)) if proposal.session else ""
        if not title:
            return ""
        steps = ", ".join(str(step) for step in proposal.steps[:4])
        if not steps:
            return tr("Learned from {}").format(title)
        said = tr("Learned from {}, step {}") if len(proposal.steps) == 1 else tr("Learned from {}, steps {}")
        return said.format(title, steps)

    def _show_source(self) -> None:
        if self.proposal:
            self.go_to.emit(self.proposal.session, self.proposal.steps[0] if self.proposal.steps else 0)

    def _lay_out(self) -> None:
        inner = QVBoxLayout(self._well)
        inner.setContentsMargins(10, 8, 10, 8)
        inner.addWidget(self._field)
        row = QHBoxLayout()
        row.setSpacing(8)
        for button in (self._keep, self._edit, self._reject):
            row.addWidget(button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SIDE, 16, SIDE, SIDE)
        column.setSpacing(10)
        column.addWidget(self._title)
        column.addWidget(hairline())
        for part in (self._text, self._lines, self._well, self._reason, self._strange):
            column.addWidget(part)
        column.addWidget(self._source)
        column.addLayout(row)
        column.addStretch(1)

    # Qt

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.editing and self.proposal:
            proposal = self.proposal
            self._well.hide()
            self._text.show()
            self._edit.setEnabled(True)
            self._keep.setEnabled(True)
            self._keep.setFocus()
            self._text.setText(visible(proposal.text))
            event.accept()
        else:
            super().keyPressEvent(event)
