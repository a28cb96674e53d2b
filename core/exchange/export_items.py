"""Groups the events of a session into the items that exports show: messages, replies with their tool calls, notes."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from core.domain.events import (
    BackgroundCommandEnded,
    CallRefused,
    CallStarted,
    ContextCompacted,
    DecisionMade,
    EventRecord,
    FileChanged,
    HarnessMessage,
    IssueReported,
    LimitRaised,
    LimitThresholdReached,
    ModelChanged,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunRated,
    RunStarted,
    SandboxTested,
    SessionEvent,
    SubagentStarted,
    TextCallsEnabled,
    ToolCall,
    ToolReturned,
    Usage,
    UserMessage,
)
from core.domain.import_events import TranscriptImported
from core.domain.notices import notice_text
from core.domain.permissions import PermissionDecided, PermissionRequested
from core.domain.question import QuestionAnswered, QuestionAsked, answer_text
from core.domain.rewind_events import FilesRewound
from core.domain.steps import first_line
from core.domain.text import Attachment
from core.timeline.text_diff import LineCounts


@dataclass(slots=True)
class RunStartItem:
    """The start of a run; `number` counts the runs of the session from 1."""

    at: int
    number: int
    model: str


@dataclass(slots=True)
class RunEndItem:
    at: int
    status: str
    reason: str = ""


@dataclass(slots=True)
class UserMessageItem:
    """A user message with its attachments."""

    at: int
    text: str
    attachments: tuple[Attachment, ...] = ()


@dataclass(slots=True)
class ToolCallItem:
    """A tool call and its outcome.

    `status` is done, failed, refused, or open while there is no result. `files` are the changed files by path.
    `child_session` is the session of a sub-agent, and `subagent` its name. `question` is what the call asks the user.
    `answer` is the user's reply, or the decision about a permission request.
    """

    at: int
    call: ToolCall
    kind: str = "tool"
    object: str = ""
    status: str = "open"
    output: str = ""
    ended: int = 0
    exit_code: int | None = None
    files: dict[str, LineCounts] = field(default_factory=dict)
    child_session: str = ""
    subagent: str = ""
    question: str = ""
    answer: str = ""


@dataclass(slots=True)
class ReplyItem:
    """A reply of the model and its tool calls. `requested_at` is the time of the request, `at` that of the reply."""

    at: int
    requested_at: int
    model: str
    text: str = ""
    reasoning: str = ""
    usage: Usage = Usage()
    cost: float | None = None
    stop_reason: str = ""
    calls: list[ToolCallItem] = field(default_factory=list)


@dataclass(slots=True)
class NoteItem:
    """A note about an event that is neither a message nor a tool call, such as a compaction or a retry."""

    at: int
    text: str


ExportItem = RunStartItem | RunEndItem | UserMessageItem | ReplyItem | NoteItem


class ExportItemBuilder:
    """Builds items from events, which are added one by one.

    A reply is complete once its calls have ended and the next item begins. While a call is open, all following items
    wait: user messages, notes, and the replies that an external agent may send while its calls are running.
    """

    def __init__(self) -> None:
        self._pending_items: list[ExportItem] = []
        self._calls: dict[str, ToolCallItem] = {}
        self._requested_at = 0
        self._running = False
        self._messages: list[UserMessageItem] = []
        self._model = ""
        self._permission_calls: dict[str, str] = {}  # the call of each permission request, by request ID

    def add(self, entry: EventRecord) -> Iterator[ExportItem]:
        """Add an event and yield the items that are complete."""
        match event := entry.event:
            case UserMessage(text=text, attachments=attachments):
                message = UserMessageItem(entry.at, text.head, attachments)
                if self._running:
                    yield from self._next(message)
                else:  # a message that starts a run comes before RunStarted, but is shown after it
                    yield from self.flush()
                    self._messages.append(message)
            case RunStarted(model=model):
                messages, self._messages = self._messages, []
                yield from self.flush()
                self._model, self._running = model, True
                yield RunStartItem(entry.at, entry.run, model)
                yield from messages
            case RequestSent(model=model, purpose=""):
                yield from self.flush()
                self._requested_at, self._model = entry.at, model
            # Waiting calls stay open: an external agent may send requests while its calls run.
            case RequestSent(purpose="agent"):
                self._requested_at = entry.at
            case Replied():
                yield from self._reply(event, entry.at)
            case RunEnded(status=status, reason=reason):
                yield from self.flush()
                self._running = False
                yield RunEndItem(entry.at, status, reason)
            case _:
                if not self._update_call(event, entry.at) and (note := note_text(event)):
                    yield from self._next(NoteItem(entry.at, note))

    def flush(self) -> Iterator[ExportItem]:
        """Yield all waiting items, complete or not."""
        items, self._pending_items = self._pending_items, []
        self._calls.clear()
        yield from items
        messages, self._messages = self._messages, []
        yield from messages

    def _next(self, item: ExportItem) -> Iterator[ExportItem]:
        """Yield the item, unless it must wait: for a call that is open or, if it is a reply, for its own calls."""
        if not any(call.status == "open" for call in self._calls.values()):
            yield from self.flush()
        if self._pending_items or isinstance(item, ReplyItem):
            self._pending_items.append(item)
        else:
            yield item

    def _reply(self, event: Replied, at: int) -> Iterator[ExportItem]:
        calls = [ToolCallItem(at, call, object=first_line(call.arguments)) for call in event.calls]
        reply = ReplyItem(
            at=at,
            requested_at=self._requested_at or at,
            model=self._model,
            text=event.text.head,
            reasoning=event.reasoning.head,
            usage=event.usage,
            cost=event.cost,
            stop_reason=event.stop_reason,
            calls=calls,
        )
        yield from self._next(reply)
        self._calls |= {item.call.id: item for item in calls}

    def _update_call(self, event: SessionEvent, at: int) -> bool:
        """Add what the event says to its tool call.

        Return false if there is no call, or a note must show the event too.
        """
        item = self._calls.get(getattr(event, "call_id", ""))
        if isinstance(event, PermissionRequested | PermissionDecided):
            return self._update_permission(event)
        if item is None:
            return False
        match event:
            case CallStarted(step_kind=kind, object=target):
                item.at, item.kind, item.object = at, kind, target
            case ToolReturned(output=output, failed=failed, exit_code=code):
                item.status, item.output, item.exit_code = "failed" if failed else "done", output.head, code
                item.ended = at
            case CallRefused(reason=reason):
                item.status, item.output, item.ended = "refused", reason.head, at
            case FileChanged(path=path, added=added, removed=removed):
                before = item.files.get(path, LineCounts())
                item.files[path] = LineCounts(before.added + added, before.removed + removed)
            case SubagentStarted(child_session=child, subagent=name):
                item.child_session, item.subagent = child, name
            case QuestionAsked(question=question):
                item.kind, item.question = "question", "\n".join(part.text for part in question.all_questions())
            case QuestionAnswered(answer=answer):
                item.answer, item.status, item.ended = answer_text(answer), "done", at
            case DecisionMade() | IssueReported():
                return False  # the caller shows it as a note
            case _:
                pass
        return True

    def _update_permission(self, event: PermissionRequested | PermissionDecided) -> bool:
        if isinstance(event, PermissionRequested):
            self._permission_calls[event.request.id] = event.request.call_id
            return True
        item = self._calls.get(self._permission_calls.pop(event.request_id, ""))
        if item:
            changes = " with changes" if event.arguments.head else ""
            item.answer = f"allowed by you{changes}" if event.allowed else "denied by you"
        return item is not None


def group_events(entries: Iterable[EventRecord]) -> Iterator[ExportItem]:
    """Yield the items of a whole event log."""
    builder = ExportItemBuilder()
    for entry in entries:
        yield from builder.add(entry)
    yield from builder.flush()


def note_text(event: SessionEvent) -> str:
    """Return the text of the note that describes an event; empty for an event that exports do not show."""
    match event:
        case (
            LimitThresholdReached()
            | LimitRaised()
            | HarnessMessage()
            | ModelChanged()
            | TextCallsEnabled()
            | TranscriptImported(partial=False)
        ):
            return notice_text(event)
        case SandboxTested(escapes=found) if found:
            return notice_text(event)
        case ReplyInterrupted(text=text, reason=why):
            return f"The reply was interrupted: {why}. {text.head}".strip()
        case RequestRetried(error=trouble):
            return f"Retried: {trouble.message}"
        case ContextCompacted(reason=why, tokens_before=before, tokens_after=after, summary=summary):
            figures = f", {before:,} to {after:,} tokens" if before and after else ""
            return f"The context was compacted ({why}{figures}). {summary.head}".strip()
        case BackgroundCommandEnded(command=command, exit_code=code, output=output):
            exit_code = "" if code is None else f" with exit code {code}"
            return f"Background command {command} ended{exit_code}. {output.head}".strip()
        case DecisionMade(intent=intent, choice=choice, reason=reason):
            return f"Decided: {intent} → {choice}" + (f", because {reason}" if reason else "")
        case IssueReported(severity=severity, description=what, fix=fix):
            return f"Issue ({severity}): {what}" + (f". Suggested fix: {fix}" if fix else "")
        case RunPaused(reason=why):
            return f"Paused: {why}" if why else "Paused"
        case RunInterrupted(reason=why):
            return f"Interrupted: {why}"
        case FilesRewound(files=files):
            return f"Files reverted: {', '.join(file.path for file in files)}" if files else ""
        case RunRated(rating=verdict, note=note) if verdict:
            return f"Your rating: {'good' if verdict == 'up' else 'bad'}" + (f", {note.head}" if note.head else "")
        case _:
            return ""


def call_arguments(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object. Arguments that are not JSON are returned under the key `text`."""
    text = call.arguments.head
    try:
        arguments = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {"text": text}
    return arguments if isinstance(arguments, dict) else {"value": arguments}
