"""The card of a proposed memory: the user compares it with the current text, and accepts, edits or rejects it."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.memory import TEXT_LIMIT
from core.domain.proposal import Proposal
from core.memory.approval import proposal_reasons
from core.timeline.text_diff import diff_texts
from ui.diff.diff_view import DiffView
from ui.memory.link_line import LinkLine
from ui.memory.texts import TitleOf, acceptance_text, proposal_title, tr, wrap_for_diff
from ui.memory.version_history import diff_height
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.flow_layout import WrappingRow
from ui.widgets.labels import TextField, hairline, label, styled_frame
from ui.widgets.scroll_column import ScrollColumn

SIDE: Final = 16


class MemoryProposalCard(QWidget):
    """Shows a proposal. Its signals report the decision of the user."""

    accepted = Signal(object)  # the edited text; None if the user has not edited it
    rejected = Signal()
    step_requested = Signal(str, int)

    def __init__(self, look: Look, title_of: TitleOf) -> None:
        super().__init__()
        self._title_of = title_of
        self._look = look
        self.proposal: Proposal | None = None
        self.setObjectName("memory.proposal")
        self._title = label("", look.fonts.bold, name="memory.proposal.title", wrap=True)
        self._text = label("", look.fonts.title, name="memory.proposal.text", wrap=True)
        self._lines = DiffView(look)
        self._lines.setObjectName("memory.proposal.lines")
        self._field = TextField(look.fonts.text, max_lines=10, min_lines=3)
        self._field.setObjectName("memory.proposal.field")
        self._field.setAccessibleName(tr("What to remember"))
        self._text_frame = styled_frame("input")
        self._reason = label("", look.fonts.text, name="memory.proposal.reason", wrap=True)
        self._consequence = label("", look.fonts.second, "second", name="memory.proposal.consequence", wrap=True)
        self._warning = label("", look.fonts.second, "waiting", name="memory.proposal.taint", wrap=True)
        self._source = LinkLine(look, "", name="memory.proposal.source", description=tr("Show the steps it comes from"))
        self._accept = Button(look, tr("Accept"), name="memory.proposal.keep", tone="primary")
        self._edit = Button(look, tr("Edit first"), name="memory.proposal.edit")
        self._reject = Button(look, tr("Reject"), name="memory.proposal.reject")
        self._lay_out()
        for button, text, act in (
            (self._accept, tr("Save this memory"), self.accept),
            (self._edit, tr("Change the text before you accept it"), self.edit),
            (self._reject, tr("Discard this proposal. You can undo that"), self.reject),
        ):
            button.setToolTip(text)
            button.clicked.connect(act)
        self._field.entered.connect(self.accept)
        self._field.textChanged.connect(self._validate)
        self._source.clicked.connect(self._show_source)

    def show_proposal(self, proposal: Proposal, before: str | None) -> None:
        """Show a proposal; `before` is the current text, None for a new memory.

        If the user is editing the same proposal, nothing changes.
        """
        if self.proposal is not None and self.proposal.id == proposal.id and self.editing:
            return
        is_other = self.proposal is None or self.proposal.id != proposal.id
        self.proposal = proposal
        self._title.setText(proposal_title(proposal))
        text = proposal.text or before or ""
        self._text.setText(visible(text))
        changes = before is not None and bool(proposal.text) and before != proposal.text
        self._text.show()
        self._lines.setVisible(changes)
        if changes:
            diff = diff_texts(wrap_for_diff(before or ""), wrap_for_diff(proposal.text))
            self._lines.show_diff(diff, side_by_side=False, can_revert=False)
            self._lines.setFixedHeight(diff_height(self._look, self._lines))
        self._text_frame.hide()
        self._reason.setText(tr("Reason: {}").format(visible(proposal.reason)))
        self._reason.setVisible(bool(proposal.reason))
        reasons = "\n".join(visible(reason) for reason in proposal_reasons(proposal))
        self._warning.setText(reasons)
        self._warning.setVisible(bool(reasons))
        self._accept.set_tone("" if reasons else "primary")
        self._consequence.setText(acceptance_text(proposal, self._title_of))
        self._source.set_text(self._source_words(proposal))
        self._source.setVisible(bool(self._source.text()))
        self._edit.setVisible(proposal.action != "archive")
        self._show_keys()
        self._validate()
        if is_other:
            self._scroll.verticalScrollBar().setValue(0)

    @property
    def editing(self) -> bool:
        return not self._text_frame.isHidden()

    def accept(self) -> None:
        if self.proposal and self._accept.isEnabled():
            self.accepted.emit(self._field.stripped_text() if self.editing else None)

    def reject(self) -> None:
        if self.proposal:
            self.rejected.emit()

    def edit(self) -> None:
        """Make the text editable. Accepting then keeps the edited text."""
        if self.proposal and not self.editing and not self._edit.isHidden():
            self._field.setPlainText(self.proposal.text)
            self._text.hide()
            self._text_frame.show()
            self._show_keys()
            self._field.setFocus(Qt.FocusReason.OtherFocusReason)

    def discard(self) -> None:
        """Clear the card together with an unsaved edit. Called when the proposal has been decided."""
        self.proposal = None
        self._text_frame.hide()

    def restyle(self, look: Look) -> None:
        self._look = look
        fonts = look.fonts
        for text_label, font in ((self._title, fonts.bold), (self._text, fonts.title), (self._reason, fonts.text)):
            text_label.setFont(font)
        for text_label in (self._warning, self._consequence):
            text_label.setFont(fonts.second)
        self._field.apply_font(fonts.text)
        for part in (self._accept, self._edit, self._reject, self._source):
            part.restyle(look)
        self._lines.restyle(look)
        self._lines.setFixedHeight(diff_height(look, self._lines))

    def _show_keys(self) -> None:
        """Show the shortcut of each button. While the text is being edited, letters are input, and Enter accepts."""
        editing = self.editing
        for button, key in ((self._accept, tr("Enter") if editing else "Y"), (self._edit, "E"), (self._reject, "N")):
            button.set_shortcut_hint(key if button is self._accept or not editing else "")
        self._edit.setEnabled(not editing)

    def _validate(self) -> None:
        text = self._field.stripped_text()
        self._accept.setEnabled(not self.editing or 0 < len(text) <= TEXT_LIMIT)

    def _source_words(self, proposal: Proposal) -> str:
        title = visible(self._title_of(proposal.session)) if proposal.session else ""
        if not title:
            return ""
        steps = ", ".join(str(step) for step in proposal.steps[:4])
        if not steps:
            return tr("From {}").format(title)
        text = tr("From {}, step {}") if len(proposal.steps) == 1 else tr("From {}, steps {}")
        return text.format(title, steps)

    def _show_source(self) -> None:
        if self.proposal:
            self.step_requested.emit(self.proposal.session, self.proposal.steps[0] if self.proposal.steps else 0)

    def _lay_out(self) -> None:
        inner = QVBoxLayout(self._text_frame)
        inner.setContentsMargins(10, 8, 10, 8)
        inner.addWidget(self._field)
        content = QWidget()
        texts = QVBoxLayout(content)
        texts.setContentsMargins(0, 0, 0, 0)
        texts.setSpacing(10)
        for part in (
            self._title,
            hairline(),
            self._text,
            self._lines,
            self._text_frame,
            self._reason,
            self._warning,
            self._source,
            self._consequence,
        ):
            texts.addWidget(part)
        self._scroll = FittingScrollArea(content)
        self._scroll.setObjectName("memory.proposal.scroll")
        self._scroll.setAccessibleName(tr("Proposal"))
        self._scroll.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # so that the arrow keys can scroll it
        column = ScrollColumn(self, self._scroll, spacing=10)
        column.setContentsMargins(SIDE, 16, SIDE, SIDE)
        column.addWidget(WrappingRow(self._accept, self._edit, self._reject))
        column.addStretch(1)

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.editing and self.proposal:
            proposal = self.proposal
            self._text_frame.hide()
            self._text.show()
            self._show_keys()
            self._accept.setEnabled(True)
            self._accept.setFocus()
            self._text.setText(visible(proposal.text))
            event.accept()
        else:
            super().keyPressEvent(event)
