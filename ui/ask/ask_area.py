"""The area above the composer that shows the first open request of a session, and the dialog for this request."""

from collections.abc import Sequence
from dataclasses import replace

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
    allowed = Signal(tuple, object)
    """The IDs of the requests, and an `Approval`."""
    changed = Signal(str, str)
    """The ID of a request whose call the user has changed and allowed, and the changed text."""
    denied = Signal(tuple, str)
    """The IDs of the requests, and the reason."""
    denied_all = Signal()
    first_interaction = Signal(str)
    """The user has started to answer the question with this ID, which expires unless its timeout is stopped."""
    request_shown = Signal(object)
    postponed = Signal()
    focus_released = Signal(bool)
    """The card that had the focus is gone, and no other request follows; whether it was a permission request."""
    unsent_text = Signal(str, str)
    """The ID of a session, and text typed there for a question that was closed unanswered."""

    def __init__(
        self,
        look: Look,
        parent: QWidget | None = None,
        *,
        height_share: float = MAX_HEIGHT_SHARE,
        announces_requests: bool = True,
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._height_share = height_share
        self._announces_requests = announces_requests
        self._column_height = 0
        self._max_card_height = 0
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
        self._return_unsent(session, requests)
        if self._already_shows(requests):
            self._requests = tuple(requests)
            return
        self._title = title
        self._requests = tuple(requests)
        was_permission = self.shows_permission()
        had_focus = self._remove_card()
        if requests:
            self._show_card(requests[0])
            # The Allow button of the next request is first disabled, so that no key press can hit it by mistake.
            if had_focus:
                self.focus_card()
            self.request_shown.emit(requests[0])
        else:
            self.hide()
            if had_focus:
                self.focus_released.emit(was_permission)

    def _already_shows(self, requests: Sequence[OpenRequest]) -> bool:
        """Return whether the card already shows the first request, with the same permission requests to answer."""
        if self._card is None or not requests or self._card.request_id() != requests[0].id:
            return False
        return isinstance(requests[0], Question) or _permissions(requests) == _permissions(self._requests)

    def _show_card(self, request: OpenRequest) -> None:
        self._card = self._build_card(request)
        self._card.postponed.connect(lambda _name: self.postponed.emit())
        self._card.dialog_requested.connect(lambda _name: self.open_dialog())
        self._card.height_share = self._height_share
        self._card.announces_itself = self._announces_requests
        self._card.set_bar_only(self._bar_only)
        # Before the card is shown; otherwise, the window would grow to the height of its content and stay that high.
        self._card.fit(self._column_height, self._max_card_height)
        self._column.addWidget(self._card)
        self.show()
        self._card.show()  # because a layout ignores widgets that are not shown yet
        self._column.activate()  # because the height of the card depends on the width that the layout gives it

    def fit(self, column_height: int, max_card_height: int = 0) -> None:
        """Set the height of the column that contains this area, of which the card takes only a part.

        `max_card_height` is the height that the other widgets of the column leave; 0 means no limit.
        """
        self._column_height = column_height
        self._max_card_height = max_card_height
        if self._card:
            self._card.fit(column_height, max_card_height)

    def set_bar_only(self, bar_only: bool) -> None:
        """Set whether only a bar is shown, for example because a tab other than the steps is open."""
        self._bar_only = bar_only
        self._column.setContentsMargins(0, 0, 0, BAR_MARGIN if bar_only else 0)
        if self._card:
            self._card.set_bar_only(bar_only)

    def set_file_contents(self, request_id: str, contents: str) -> None:
        """Set the current contents of the file that a request would change, so that the request is shown as a diff."""
        updated_requests: list[OpenRequest] = []
        for request in self._requests:
            if isinstance(request, PendingPermission) and request.id == request_id:
                updated_request = replace(request, file_contents=contents)
                updated_requests.append(updated_request)
                self._update_shown_request(updated_request)
            else:
                updated_requests.append(request)
        self._requests = tuple(updated_requests)

    def _update_shown_request(self, request: PendingPermission) -> None:
        """Show a newer version of a permission request, if it is the one on the card."""
        if isinstance(self._card, PermissionCard) and self._card.request_id() == request.id:
            self._card.show_request(request)
            if isinstance(self._dialog, PermissionDialog):
                self._dialog.form.show_request(request)

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
            self._dialog = self._create_permission_dialog(self._card)
        else:
            self._dialog = self._create_question_dialog(self._card)
        self._dialog.finished.connect(lambda _: self._close_dialog())
        self._dialog.open()

    def _create_permission_dialog(self, card: PermissionCard) -> PermissionDialog:
        dialog = PermissionDialog(
            self._look, card.pending, context=self._title, draft=card.draft(), parent=self.window()
        )
        dialog.allowed.connect(self.allowed)
        dialog.changed.connect(self.changed)
        dialog.denied.connect(self.denied)
        dialog.denied_all.connect(self.denied_all)
        return dialog

    def _create_question_dialog(self, card: QuestionCard) -> QuestionDialog:
        dialog = QuestionDialog(
            self._look, card.question, context=self._title, draft=card.draft(), parent=self.window()
        )
        dialog.answered.connect(self._answer)
        if card.question.timeout_s > 0:
            dialog.form.first_interaction.connect(self.first_interaction)
        return dialog

    def restyle(self, look: Look) -> None:
        self._look = look
        for widget in (self._card, self._dialog):
            if widget is not None:
                widget.restyle(look)

    def _return_unsent(self, session: str, requests: Sequence[OpenRequest]) -> None:
        """Emit `unsent_text` with text typed for a question that was closed unanswered, such as an expired one."""
        is_same_session = session == self._session
        self._session = session
        card = self._card
        if not is_same_session or not isinstance(card, QuestionCard):
            return
        is_open = any(request.id == card.request_id() for request in requests)
        if is_open or card.request_id() == self._answered_id:
            return
        draft = card.draft()
        texts = [draft.text, *(sub_answer.text for sub_answer in draft.sub_answers)]
        if unsent_text := "\n".join(text for text in texts if text):
            self.unsent_text.emit(session, unsent_text)

    def _build_card(self, request: OpenRequest) -> Card:
        draft = self._drafts.get(request.id)
        if isinstance(request, Question):
            return self._create_question_card(request, draft if isinstance(draft, Answer) else None)
        return self._create_permission_card(draft if isinstance(draft, PermissionDraft) else None)

    def _create_question_card(self, question: Question, draft: Answer | None) -> QuestionCard:
        card = QuestionCard(self._look, question, draft=draft)
        card.answered.connect(self._answer)
        if question.timeout_s > 0:
            card.form.first_interaction.connect(self.first_interaction)
        return card

    def _create_permission_card(self, draft: PermissionDraft | None) -> PermissionCard:
        card = PermissionCard(self._look, _permissions(self._requests), draft=draft)
        card.allowed.connect(self.allowed)
        card.changed.connect(self.changed)
        card.denied.connect(self.denied)
        card.denied_all.connect(self.denied_all)
        return card

    def _answer(self, request_id: str, answer: Answer) -> None:
        self._drafts.pop(request_id, None)
        self._answered_id = request_id
        request = next((pending for pending in self._requests if pending.id == request_id), None)
        self.answered.emit(request_id, answer)
        # The user has seen the full URL and agreed to open it.
        if isinstance(request, Question) and request.url and answer.option:
            QDesktopServices.openUrl(QUrl(request.url))

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
