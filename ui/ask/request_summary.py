"""The short texts of a question or a permission request, for cards, dialogs and the inbox."""

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from core.domain.clock import SECOND
from core.domain.question import Question
from ui.ask.full_text import one_line
from ui.ask.pending_permission import PendingPermission, accessible_title, request_title
from ui.text.visible import visible


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """The texts with which a question or permission request is displayed.

    Attributes:
        kind: The prefix of the object names of its widgets.
        bar_text: The text for a single line.
        accessible_text: The text for screen readers.
        badge: The text of a badge, such as the position in the queue or the MCP server that asks.
        expires_at: When the question expires, in microseconds since the epoch; 0 if it does not.
        on_expiry: A text that says what happens when the question expires.
    """

    id: str
    kind: str
    icon: str
    title: str
    reason: str
    bar_text: str
    accessible_text: str
    asked_at: int
    badge: str = ""
    expires_at: int = 0
    on_expiry: str = ""

    @property
    def title_object_name(self) -> str:
        """The object name of the title label.

        A permission request needs another one, because `<kind>.text` is its tool call.
        """
        return f"{self.kind}.{'text' if self.kind == 'question' else 'title'}"


def summarize_question(question: Question) -> RequestSummary:
    text = visible(question.text)
    server = question.mcp_server
    accessible_text = _tr("Question: {}").format(text)
    if server:
        accessible_text = _tr("The MCP server {} asks: {}").format(server, text)
    return RequestSummary(
        id=question.id,
        kind="question",
        icon="circle-question-mark",
        title=text,
        reason=visible(question.reason),
        bar_text=text,
        accessible_text=accessible_text,
        asked_at=question.asked_at,
        badge=_tr("MCP server {}").format(server) if server else "",
        expires_at=_expiry_time(question),
        on_expiry=_expiry_consequence(question),
    )


def summarize_permission(pending: PendingPermission, badge: str = "") -> RequestSummary:
    title = request_title(pending.request)
    bar_text = f"{title} {one_line(pending.request.object)}"
    accessible_text = _tr("Permission request: {}").format(accessible_title(pending))
    return RequestSummary(
        id=pending.id,
        kind="consent",
        icon="shield-question-mark",
        title=title,
        reason="",
        bar_text=bar_text,
        accessible_text=accessible_text,
        asked_at=pending.asked_at,
        badge=badge,
    )


def queue_position(number: int, count: int) -> str:
    """Return a text such as `Request 1 of 2`; "" for a single request."""
    return _tr("Request {} of {}").format(number, count) if count > 1 else ""


def _expiry_time(question: Question) -> int:
    return question.asked_at + int(question.timeout_s * SECOND) if question.timeout_s > 0 else 0


def _expiry_consequence(question: Question) -> str:
    if question.on_unanswered == "default":
        return _tr("the run continues with “{}”").format(one_line(question.default_answer))
    return _tr("the run pauses")


def _tr(text: str) -> str:
    return QCoreApplication.translate("asking", text)
