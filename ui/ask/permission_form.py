"""The form of a permission request: the complete tool call, its details, the scope of the approval, and the buttons."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from PySide6.QtCore import QMargins, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from ui.ask.call_editor import CallEditor
from ui.ask.detail_grid import NAME_WIDTH, DetailGrid
from ui.ask.full_text import DisplayLine, FullTextView
from ui.ask.pending_permission import PendingPermission, call_lines, request_details, request_title
from ui.ask.scope_row import ScopeRow
from ui.ask.scroll_hint import ScrollHint
from ui.ask.security_delay import SecurityDelay
from ui.style.theme import Look, set_style_properties
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.column import column_in
from ui.widgets.fitting_scroll_area import FittingScrollArea
from ui.widgets.flow_layout import WrappingRow
from ui.widgets.labels import ENTER_KEYS, TextField, hairline, hide_unless, show_focus_on, styled_frame
from ui.widgets.scroll_column import ScrollColumn
from ui.widgets.stacking_row import StackingRow, plain_row

GAP: Final = 8
MAX_SPOKEN_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class PermissionDraft:
    """What the user has entered so far: the reason for denying, and the changed call (None if it is unchanged)."""

    reason: str = ""
    change: str | None = None


class PermissionForm(QFrame):
    """The form of a permission request, which the card and the dialog share.

    Allow is disabled until the user has scrolled the text to its end and a short delay has passed. Keys: A allows (only
    if the call can be undone), C changes the call first, D denies, 1 to 4 choose the scope. Esc discards a change of
    the call; without one, it leaves the request open. The class is a frame because a plain widget with the focus has no
    role for screen readers.
    """

    allowed = Signal(tuple, object)  # the IDs of the requests, and an `Approval`
    changed = Signal(str, str)
    denied = Signal(tuple, str)
    denied_all = Signal()
    postponed = Signal(str)
    layout_changed = Signal()

    def __init__(
        self,
        look: Look,
        pending: PendingPermission,
        *,
        header: QWidget,
        similar: Sequence[PendingPermission] = (),
        queue_length: int = 1,
        dialog: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._request = pending
        self._similar = tuple(similar)
        self._has_seen_end = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(request_title(pending.request))
        self._build(queue_length)
        self._lay_out(header, dialog=dialog)
        self.delay = SecurityDelay(self)
        self.delay.elapsed_changed.connect(self._update_delay)
        # While a layout is under way, the scroll bar may have a range that it does not keep.
        self._settled_timer = QTimer(self, singleShot=True, interval=0)
        self._settled_timer.timeout.connect(self._check_seen)
        bar = self._scroll.verticalScrollBar()
        bar.valueChanged.connect(self._check_seen_if_settled)
        bar.rangeChanged.connect(self._settled_timer.start)
        self._scroll_hint.clicked.connect(self._scroll_by_page)
        self.scope.changed.connect(self._update_state)
        self.scope.changed.connect(self._emit_layout_changed)
        self._reason_field.entered.connect(self.deny)
        self._allow.clicked.connect(self.allow)
        self._change.clicked.connect(self.edit_call)
        self._editor.text_changed.connect(self._update_state)
        self._editor.text_changed.connect(self._emit_layout_changed)
        self._editor.submitted.connect(self.allow)
        self._deny.clicked.connect(self.deny_or_show_reason)
        self._later_button.clicked.connect(self.discard_or_postpone)
        self._deny_all_button.clicked.connect(lambda: self.denied_all.emit())
        self._together_button.toggled.connect(self._show_together)
        self._show_lines()
        self._update_state()

    def request_ids(self) -> tuple[str, ...]:
        """Return the IDs of all requests to which the answer applies."""
        return (self._request.id, *(request.id for request in self._included_requests()))

    def _included_requests(self) -> tuple[PendingPermission, ...]:
        """Return the similar requests that are answered together with this one."""
        return self._similar if self._together_button.isChecked() else ()

    def can_allow(self) -> bool:
        is_complete = bool(self._editor.text().strip()) if self._is_editing else not self.scope.missing_choice()
        return self.delay.has_elapsed and self._has_seen_end and is_complete

    def allow(self) -> None:
        if not self.can_allow():
            return
        if self._is_editing:
            self.changed.emit(self._request.id, self._editor.text())
        else:
            self.allowed.emit(self.request_ids(), self.scope.approval())

    def edit_call(self) -> None:
        """Let the user change the call, once they have seen it. A changed call is allowed only once and on its own."""
        if self._can_edit() and not self._is_editing:
            self._together_button.setChecked(False)
            self._set_editing(True, self._editor.original)
            self._editor.focus_text()

    def discard_or_postpone(self) -> None:
        """Discard the changes to the call; if there are none, leave the request open."""
        if self._is_editing:
            self._set_editing(False, self._editor.original)
            self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            self.postpone()

    @property
    def _is_editing(self) -> bool:
        return self._editor.isVisibleTo(self)

    def _can_edit(self) -> bool:
        return self.delay.has_elapsed and self._has_seen_end and not self._request.request.options

    def _set_editing(self, editing: bool, text: str) -> None:
        """Show the editor in place of the scope, or hide it and discard what was changed in it."""
        self._editor.setVisible(editing)
        self._editor.set_text(text)
        self._change.setVisible(not editing)
        self._show_scope()
        self._together_button.setVisible(not editing and bool(self._similar))
        self._allow.setText(self.tr("Allow changed call") if editing else self.tr("Allow"))
        self._allow.setAccessibleName(self._allow.text())
        self._allow.set_shortcut_hint(self.tr("Ctrl+Enter") if editing else self._allow_hint())
        self._deny.set_shortcut_hint("" if editing else self.tr("D"))
        self._later_button.setText(self.tr("Discard change") if editing else self.tr("Decide later"))
        self._later_button.setAccessibleName(self._later_button.text())
        self._update_state()
        self.layout_changed.emit()

    def _allow_hint(self) -> str:
        return self.tr("A") if self._request.request.reversible else ""

    def deny_or_show_reason(self) -> None:
        """Show the field for a reason.

        If it is already shown, or if an external agent would not read a reason, deny the request instead.
        """
        if self._reason_frame.isVisibleTo(self) or self._request.request.options:
            self.deny()
            return
        self._show_reason_field()
        self._reason_field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.layout_changed.emit()

    def deny(self) -> None:
        self.denied.emit(self.request_ids(), self._reason_field.stripped_text())

    def postpone(self) -> None:
        self.postponed.emit(self._request.id)

    def has_open_field(self) -> bool:
        """Return whether the field for a reason or the editor of the call is open."""
        return self._reason_frame.isVisibleTo(self) or self._is_editing

    def draft(self) -> PermissionDraft:
        """Return what the user has entered so far."""
        return PermissionDraft(self._reason_field.stripped_text(), self._editor.text() if self._is_editing else None)

    def fill(self, draft: PermissionDraft) -> None:
        if draft.reason:
            self._reason_field.setPlainText(draft.reason)
            self._show_reason_field()
        if draft.change is not None:
            self._set_editing(True, draft.change)

    def show_request(self, pending: PendingPermission) -> None:
        """Show the same request again, now with the contents of the file that it would change."""
        self._request = pending
        self._show_lines()

    def set_collapsed(self, collapsed: bool) -> None:
        """Hide the less urgent details, because space is short. The dialog and tooltips still show them.

        While a reason for denying is typed, the scope is hidden too.
        """
        self._details.set_collapsed(collapsed)
        self.scope.set_collapsed(collapsed)
        self._show_scope(collapsed=collapsed)

    def _show_scope(self, *, collapsed: bool = False) -> None:
        """Show the choice of the scope, unless the call is changed or denied; a scope that the user chose stays."""
        makes_room = collapsed and self._reason_frame.isVisibleTo(self) and self.scope.selected_scope() == "once"
        self.scope.setVisible(self.scope.offers_choice() and not self._is_editing and not makes_room)

    def height_while_scrolling(self, width: int) -> int:
        """Return the height below which choices and buttons would be cut off, because the call is already scrolling."""
        return self._column.least_height(width)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._text.restyle(look)
        self.scope.restyle(look)
        self._editor.restyle(look)
        buttons = (self._later_button, self._deny_all_button, self._deny, self._change, self._allow)
        for button in (*buttons, self._together_button, self._scroll_hint):
            button.restyle(look)
        self._details.restyle(look)
        self._reason_field.apply_font(look.fonts.text)

    def _build(self, queue_length: int) -> None:
        look = self._look
        pending = self._request
        self._text = FullTextView(look, name="consent.text")
        self._text.setAccessibleName(request_title(pending.request))
        self._text.height_changed.connect(self._emit_layout_changed)
        self._scroll_hint = ScrollHint(look)
        self.scope = ScopeRow(look, pending.request, name_width=look.size(NAME_WIDTH) - 6)
        self._editor = CallEditor(look, pending)
        self._details = DetailGrid(look, request_details(pending))
        self._build_reason_field()
        self._build_buttons(queue_length)

    def _build_reason_field(self) -> None:
        self._reason_field = TextField(self._look.fonts.text, max_lines=3)
        self._reason_field.setObjectName("consent.reason")
        self._reason_field.setPlaceholderText(
            self.tr("Why not? (optional) The agent reads your reason and continues without this call.")
        )
        self._reason_field.setAccessibleName(self.tr("Reason for denying, sent to the agent"))
        self._reason_frame = styled_frame("well")
        self._reason_frame.setObjectName("consent.field")
        layout = QHBoxLayout(self._reason_frame)
        layout.setContentsMargins(10, 5, 10, 4)
        layout.addWidget(self._reason_field)
        show_focus_on(self._reason_frame, self._reason_field)
        self._reason_frame.hide()

    def _build_buttons(self, queue_length: int) -> None:
        look = self._look
        from_external_agent = bool(self._request.request.options)
        self._later_button = Button(
            look, self.tr("Decide later"), name="consent.later", tone="quiet", hint=self.tr("Esc")
        )
        self._later_button.setToolTip(self.tr("Leave the request open: the run waits until you answer"))
        deny_both_text = self.tr("Deny both and stop the run")
        deny_all_text = self.tr("Deny all {} and stop the run").format(queue_length)
        if queue_length == 2:
            deny_all_text = deny_both_text
        self._deny_all_button = Button(look, deny_all_text, name="consent.deny_all", tone="stop")
        self._deny_all_button.setToolTip(self.tr("None of the waiting calls is run, and the run ends, as with Stop"))
        hide_unless(self._deny_all_button, queue_length > 1)
        deny_text = self.tr("Deny") if from_external_agent else self.tr("Deny…")
        self._deny = Button(look, deny_text, name="consent.deny", hint=self.tr("D"))
        self._deny.setToolTip(self.tr("The agent continues without this call. You can tell it why"))
        self._allow = Button(look, self.tr("Allow"), name="consent.allow", tone="primary", hint=self._allow_hint())
        self._change = Button(look, self.tr("Change…"), name="consent.change", hint=self.tr("C"))
        self._change.setToolTip(self.tr("Edit the call, then allow it as you wrote it"))
        hide_unless(self._change, not from_external_agent)
        together_text = self.tr("Answer these {} requests together").format(len(self._similar) + 1)
        self._together_button = Button(look, together_text, name="consent.together")
        self._together_button.setCheckable(True)
        hide_unless(self._together_button, bool(self._similar))

    def _lay_out(self, header: QWidget, *, dialog: bool) -> None:
        side_margin = 20 if dialog else 0
        self._content = QWidget()
        content_layout = column_in(self._content)
        content_layout.addWidget(header)
        body_layout = QVBoxLayout()
        body_layout.setContentsMargins(side_margin, 12 if dialog else 6, side_margin, 8)
        body_layout.setSpacing(GAP)
        body_layout.addWidget(self._build_text_frame())
        body_layout.addWidget(self._together_button, 0, Qt.AlignmentFlag.AlignLeft)
        body_layout.addLayout(self._details)
        content_layout.addLayout(body_layout)
        content_layout.addStretch(1)
        self._scroll = FittingScrollArea(self._content)
        self._hint_row = plain_row(self._scroll_hint, alignment=Qt.AlignmentFlag.AlignLeft)
        self._hint_row.setContentsMargins(max(0, side_margin - 12), 4, side_margin, 0)
        self._column = ScrollColumn(self, self._scroll, spacing=0, hint=self._hint_row)
        answer_layout = QVBoxLayout()
        answer_layout.setContentsMargins(side_margin, 4, side_margin, 8)
        answer_layout.setSpacing(GAP)
        answer_layout.addWidget(self.scope)
        answer_layout.addWidget(self._editor)
        answer_layout.addWidget(self._reason_frame)
        self._column.addLayout(answer_layout)
        if dialog:
            self._column.addStretch(1)
            self._column.addWidget(hairline())
        self._column.addWidget(self._build_button_row(dialog=dialog))

    def _build_button_row(self, *, dialog: bool) -> QWidget:
        answers = WrappingRow(self._deny_all_button, self._deny, self._change, self._allow)
        later = plain_row(self._later_button, alignment=Qt.AlignmentFlag.AlignLeft)
        margins = QMargins(8, 12, 20, 12) if dialog else QMargins()
        return StackingRow(later, answers, margins=margins, spacing=GAP)

    def _build_text_frame(self) -> QWidget:
        frame = styled_frame("well")
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(10, 7, 10, 7)
        layout.addWidget(self._text)
        self._text.focus_changed.connect(lambda on: set_style_properties(frame, focused=on))
        self._text.cursor_moved.connect(self._follow_cursor)
        return frame

    def _follow_cursor(self, rect: QRect) -> None:
        """Scroll to make the text cursor visible."""
        for corner in (rect.topLeft(), rect.bottomRight()):
            self._scroll.ensureVisible(0, self._text.viewport().mapTo(self._content, corner).y(), 0, 2)

    def _show_reason_field(self) -> None:
        """Show the field for a reason, and hide the hints for single-letter shortcuts, which do not work in it."""
        self._reason_frame.show()
        self._deny.setText(self.tr("Deny"))
        self._deny.setAccessibleName(self._deny.text())
        self._deny.set_shortcut_hint(self.tr("Enter"))
        self._allow.set_shortcut_hint("")
        self._change.set_shortcut_hint("")

    # Whether the user has scrolled to the end

    def _show_together(self, _on: bool) -> None:
        self._show_lines()
        count = len(self.request_ids())
        self._allow.setText(self.tr("Allow all {}").format(count) if count > 1 else self.tr("Allow"))
        self._allow.setAccessibleName(self._allow.text())
        self._allow.updateGeometry()
        self.layout_changed.emit()

    def _show_lines(self) -> None:
        """Show the calls that would be allowed. The user must scroll to the end and wait for the delay again."""
        lines = call_lines(self._request)
        for similar in self._included_requests():
            lines += [DisplayLine(""), *call_lines(similar)]
        self._has_seen_end = False
        self._text.show_lines(lines)
        self.setAccessibleDescription(self._description(lines))
        self._settled_timer.start()
        if self.isVisible():
            self.delay.restart()

    def _description(self, lines: Sequence[DisplayLine]) -> str:
        """Return the first lines of the calls, and the details, for screen readers, which read these first."""
        patterns = {"+": self.tr("added: {}"), "-": self.tr("removed: {}")}
        texts = [patterns.get(line.sign, "{}").format(line.text) for line in lines[:MAX_SPOKEN_LINES]]
        more_count = len(lines) - MAX_SPOKEN_LINES
        if more_count > 0:
            texts.append(self.tr("{} more lines").format(more_count))
        texts += [f"{detail.label}: {detail.text}" for detail in request_details(self._request) if detail.text]
        return "\n".join(texts)

    def _emit_layout_changed(self) -> None:
        self.layout_changed.emit()

    def _update_delay(self, has_elapsed: bool) -> None:
        self._update_state()
        if has_elapsed:
            self._check_seen_if_settled()

    def _check_seen_if_settled(self) -> None:
        if not self._settled_timer.isActive():
            self._check_seen()

    def _check_seen(self) -> None:
        """Record whether the user has scrolled to the end, and load the next lines if there are any."""
        bar = self._scroll.verticalScrollBar()
        shows_end = self._scroll.isVisible() and bar.value() >= bar.maximum()
        if self.delay.has_elapsed and shows_end and not self._text.show_more():
            self._has_seen_end = True
        self._update_state()
        self._update_scroll_hint()

    def _update_state(self) -> None:
        if option := self.scope.selected_option():
            self._allow.setText(self.tr("Allow") if option.allows else self.tr("Send this answer"))
            self._allow.setAccessibleName(f"{self._allow.text()}: {option.name}")
        self._allow.setEnabled(self.can_allow())
        self._change.setEnabled(self._can_edit())

    def _update_scroll_hint(self) -> None:
        bar = self._scroll.verticalScrollBar()
        height_below = bar.maximum() - bar.value()
        lines_below = ceil(height_below / max(1, self._text.fontMetrics().lineSpacing()))
        lines_left = lines_below + self._text.lines_left()
        must_scroll = not self._has_seen_end and lines_left > 0
        if must_scroll:
            self._scroll_hint.show_lines_left(lines_left)
        elif self._scroll_hint.hasFocus():
            self.setFocus(Qt.FocusReason.OtherFocusReason)  # not the next button, which a second press would hit
        self._column.set_hint_room(not self._has_seen_end)
        self._hint_row.setVisible(must_scroll)

    def _why_not_yet(self) -> str:
        """Return what keeps the call from being allowed with the A key; "" if nothing does."""
        if self._scroll_hint.isVisible():
            return self._scroll_hint.text()
        if not (self.delay.has_elapsed and self._has_seen_end):
            return self.tr("Not allowed yet. Press A again in a moment.")
        return "" if self._is_editing else self.scope.missing_choice()

    def _scroll_by_page(self) -> None:
        self._scroll_with_key(Qt.Key.Key_PageDown)

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        focused = self.focusWidget()
        has_modifier = event.modifiers() not in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if key == Qt.Key.Key_Escape:
            self.discard_or_postpone()
        elif key in ENTER_KEYS and isinstance(focused, QPushButton) and focused.hasFocus():
            focused.click()
        elif key in ENTER_KEYS and self._reason_frame.isVisibleTo(self):
            self.deny()
        elif not has_modifier and self._run_shortcut(event):
            event.accept()
        elif not self._scroll_with_key(Qt.Key(key)):
            super().keyPressEvent(event)

    def _run_shortcut(self, event: QKeyEvent) -> bool:
        """Handle a letter or digit that is a shortcut of the form; return whether it is one."""
        key = event.key()
        if key == Qt.Key.Key_A and self._request.request.reversible and not event.isAutoRepeat():
            if reason := self._why_not_yet():
                announce(self, reason)
            self.allow()
        elif key == Qt.Key.Key_C:
            self.edit_call()
        elif key == Qt.Key.Key_D:
            self.deny_or_show_reason()
        else:
            return Qt.Key.Key_1 <= key <= Qt.Key.Key_9 and self.scope.select_number(key - Qt.Key.Key_0)
        return True

    def _scroll_with_key(self, key: Qt.Key) -> bool:
        """Scroll the call if the key is a scroll key; return whether it is one."""
        bar = self._scroll.verticalScrollBar()
        steps = {
            Qt.Key.Key_Down: bar.singleStep(),
            Qt.Key.Key_Up: -bar.singleStep(),
            Qt.Key.Key_PageDown: bar.pageStep(),
            Qt.Key.Key_PageUp: -bar.pageStep(),
            Qt.Key.Key_End: bar.maximum(),
            Qt.Key.Key_Home: -bar.maximum(),
        }
        if key not in steps:
            return False
        bar.setValue(bar.value() + steps[key])
        return True

    def sizeHint(self) -> QSize:
        return QSize(480, super().sizeHint().height())
