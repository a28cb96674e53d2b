"""The area above the composer that shows the first open request of a session, and the dialog for this request."""

from collections.abc import Sequence

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.domain.question import Answer, Question
from ui.ask.ask_card import MAX_HEIGHT_SHARE
from ui.ask.cards import PermissionCard, QuestionCard
from ui.ask.dialogs import PermissionDialog, QuestionDialog
from ui.ask.pending_permission import PendingPermission
from ui.ask.permission_form import PermissionDraft
from ui.style.theme import Look

BAR_MARGIN = 8
OpenRequest = Question | PendingPermission
Card = QuestionCard | PermissionCard
Dialog = QuestionDialog | PermissionDialog


class AskArea(QWidget):
    """Shows the oldest open question or permission request of a session.

    What the user has entered for a request is kept while another one is shown. The card takes at most `height_share` of
    the height of the column that contains this area. With `announces_requests`, each request is announced when it
    appears.
    """

    answered = Signal(str, Answer)
    allowed = Signal(tuple, object)  # the IDs of the requests, and an `Approval`
    changed = Signal(str, str)
    denied = Signal(tuple, str)
    denied_all = Signal()
    first_interaction = Signal(str)
    request_shown = Signal(object)
    postponed = Signal()
    focus_released = Signal(bool)  # whether the closed request was for a permission
    unsent_text = Signal(str, str)

    def __init__(
        self, look: Look, parent: QWidget | None = None, *, height_share: float = MAX_HEIGHT_SHARE,
        announces_requests: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._look = look
        self._height_share = height_share
        self._announces_requests = announces_requests
        self._available_height = self._room = 0
        self._bar_only = False
        self._session = ""
        self._title = ""
        self._answered_id = ""
        self._requests: tuple[OpenRequest, ...] = ()
        self._card: Card | None = None
        self._dialog: Dialog | None = None
        self._drafts: dict[str, Answer | PermissionDraft] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.hide()

    @property
    def card(self) -> Card | None:
        return self._card

    @property
    def dialog(self) -> Dialog | None:
        return self._dialog

    def show_requests(self, session: str, title: str, requests: Sequence[OpenRequest]) -> None:
        """Show the open requests of a session, which are ordered by age, oldest first.

        Without requests, hide the area.
        """
        first = requests[0] if requests else None
        self._return_unsent(session, requests)
        same = self._card is not None and first is not None and self._card.request_id() == first.id
        if same and (isinstance(first, Question) or _permissions(requests) == _permissions(self._requests)):
            self._requests = tuple(requests)
            return
        self._title, self._requests = title, tuple(requests)
        was_permission, had_keyboard = self.shows_permission(), self._remove_card()
        if first is None:
            self.hide()
            if had_keyboard:
                self.focus_released.emit(was_permission)
            return
        self._card = self._build_card(first)
        self._card.postponed.connect(lambda _name: self.postponed.emit())
        self._card.dialog_requested.connect(lambda _name: self.open_dialog())
        self._card.height_share = self._height_share
        self._card.announces_itself = self._announces_requests
        self._card.set_bar_only(self._bar_only)
        # Before the card is shown; otherwise, the window would grow to the height of its content and stay that high.
        self._card.fit(self._available_height, self._room)
        self._column.addWidget(self._card)
        self.show()
        self._card.show()  # because a layout ignores widgets that are not shown yet
        self._column.activate()  # because the height of the card depends on the width that the layout gives it
        # The Allow button of the next request is first disabled, so that no key press can hit it by mistake.
        if had_keyboard:
            self.focus_card()
        self.request_shown.emit(first)

    def fit(self, column_height: int, room: int = 0) -> None:
        """Set the height of the column that contains this area, and the height that its other widgets leave, in pixels.

        Both limit the height of the card. A `room` of 0 means no limit.
        """
        self._available_height, self._room = column_height, room
        if self._card:
            self._card.fit(column_height, room)

    def set_bar_only(self, on: bool) -> None:
        """Set whether only a bar is shown, for example because a tab other than the steps is open."""
        self._bar_only = on
        self._column.setContentsMargins(0, 0, 0, BAR_MARGIN if on else 0)
        if self._card:
            self._card.set_bar_only(on)

    def set_file_contents(self, request_id: str, contents: str) -> None:
        """Set the current contents of the file that a request would change, so that the request is shown as a diff."""
        self._requests = tuple(
            PendingPermission(request.request, request.arguments, request.asked_at, contents)
            if isinstance(request, PendingPermission) and request.id == request_id
            else request
            for request in self._requests
        )
        if isinstance(self._card, PermissionCard) and self._card.request_id() == request_id:
            updated_request = next(request for request in self._requests if request.id == request_id)
            assert isinstance(updated_request, PendingPermission)
            self._card.show_request(updated_request)
            if isinstance(self._dialog, PermissionDialog):
                self._dialog.form.show_request(updated_request)

    def focus_card(self) -> None:
        if self._card:
            self._card.focus_form()

    def highlight(self) -> None:
        """Highlight the card briefly, because a command or notification has led the user to it."""
        if self._card:
            self._card.highlight()

    def shows_permission(self) -> bool:
        return isinstance(self._card, PermissionCard)

    def open_dialog(self) -> None:
        """Open a dialog for the request on the card."""
        if self._dialog is not None or self._card is None:
            return
        if isinstance(self._card, PermissionCard):
            asking = PermissionDialog(
                self._look, self._card.pending, context=self._title, draft=self._card.draft(), parent=self.window()
            )
            asking.allowed.connect(self.allowed)
            asking.changed.connect(self.changed)
            asking.denied.connect(self._deny)
            asking.denied_all.connect(self.denied_all)
            self._dialog = asking
        else:
            question = self._card.question
            dialog = QuestionDialog(
                self._look, question, context=self._title, draft=self._card.draft(), parent=self.window()
            )
            dialog.answered.connect(self._answer)
            if question.timeout_s > 0:
                dialog.form.first_interaction.connect(self.first_interaction)
            self._dialog = dialog
        self._dialog.finished.connect(lambda _: self._close_dialog())
        self._dialog.open()

    def restyle(self, look: Look) -> None:
        self._look = look
        for widget in (self._card, self._dialog):
            if widget is not None:
                widget.restyle(look)

    def _return_unsent(self, session: str, requests: Sequence[OpenRequest]) -> None:
        """Emit `unsent_text` with text typed for a question that was closed unanswered, such as an expired one."""
        card, same = self._card, session == self._session
        self._session = session
        disappeared = card is not None and all(request.id != card.request_id() for request in requests)
        if same and disappeared and isinstance(card, QuestionCard) and card.request_id() != self._answered_id:
            draft = card.draft()
            unsent_text = "\n".join(filter(None, (draft.text, *(sub_answer.text for sub_answer in draft.sub_answers))))
            if unsent_text:
                self.unsent_text.emit(session, unsent_text)

    def _build_card(self, first: OpenRequest) -> Card:
        draft = self._drafts.get(first.id)
        if isinstance(first, Question):
            card = QuestionCard(self._look, first, draft=draft if isinstance(draft, Answer) else None)
            card.answered.connect(self._answer)
            if first.timeout_s > 0:
                card.form.first_interaction.connect(self.first_interaction)
            return card
        permission_draft = draft if isinstance(draft, PermissionDraft) else None
        permission_card = PermissionCard(self._look, _permissions(self._requests), draft=permission_draft)
        permission_card.allowed.connect(self.allowed)
        permission_card.changed.connect(self.changed)
        permission_card.denied.connect(self._deny)
        permission_card.denied_all.connect(self.denied_all)
        return permission_card

    def _answer(self, request_id: str, answer: Answer) -> None:
        self._drafts.pop(request_id, None)
        self._answered_id = request_id
        request = next((pending for pending in self._requests if pending.id == request_id), None)
        self.answered.emit(request_id, answer)
        # The user has seen the full URL and agreed to open it.
        if isinstance(request, Question) and request.url and answer.option:
            QDesktopServices.openUrl(QUrl(request.url))

    def _deny(self, names: tuple[str, ...], reason: str) -> None:
        self.denied.emit(names, reason)

    def _close_dialog(self) -> None:
        """Copy what the user entered in the dialog to the card, and delete the dialog."""
        if self._dialog is None:
            return
        if isinstance(self._card, QuestionCard) and isinstance(self._dialog, QuestionDialog):
            self._card.form.fill(self._dialog.draft())
        if isinstance(self._card, PermissionCard) and isinstance(self._dialog, PermissionDialog):
            self._card.form.fill(self._dialog.draft())
        self._dialog.deleteLater()
        self._dialog = None

    def _remove_card(self) -> bool:
        """Remove the card; return whether it had the keyboard focus."""
        if self._card is None:
            return False
        if self._dialog is not None:
            self._dialog.close()
        if self._card.request_id() != self._answered_id:
            self._drafts[self._card.request_id()] = self._card.draft()
        focused: QWidget | None = self.window().focusWidget()
        had_focus = focused is not None and self._card.isAncestorOf(focused)
        self._column.removeWidget(self._card)
        self._card.hide()
        self._card.deleteLater()
        self._card = None
        return had_focus


def _permissions(requests: Sequence[OpenRequest]) -> tuple[PendingPermission, ...]:
    return tuple(request for request in requests if isinstance(request, PendingPermission))
