"""Summaries of runs, built from events in one pass. All queries and reports are based on them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from core.domain.events import (
    CallRefused,
    CallStarted,
    ContextCompacted,
    DecisionMade,
    EventRecord,
    FileChanged,
    IssueReported,
    QueueChanged,
    Replied,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunRated,
    RunResumed,
    RunStarted,
    SessionEvent,
    SessionForked,
    ToolReturned,
    UserMessage,
)
from core.domain.permissions import PermissionDecided, PermissionRequested
from core.domain.problems import ErrorDetails
from core.domain.question import QuestionAnswered, QuestionAsked
from core.domain.steps import first_line
from core.domain.text import Text
from core.timeline.text_diff import LineCounts

EffectiveRating = Literal["good", "bad", "unknown"]
STATUS_AFTER_END = {"completed": "done", "stopped": "stopped", "limit": "limit", "failed": "failed"}


@dataclass(slots=True)
class CallSummary:
    """A tool call and its outcome.

    The status `open` means that the outcome is unknown. `decision` is the last decision that was recorded before the
    call.
    """

    seq: int
    id: str
    tool: str
    object: str = ""
    status: Literal["open", "done", "failed", "refused"] = "open"
    output: str = ""
    started_at: int = 0
    ended_at: int = 0
    decision: str = ""


@dataclass(slots=True)
class RunSummary:
    """A run and its outcome.

    `rating` is the user's rating, `check_rating` that of the task's own check. `files` maps paths to the lines added
    and removed. `unanswered` has the IDs of the open questions and permission requests. `copied` tells whether the run
    belongs to the session that this one was forked from, and must not be counted twice.
    """

    session: str
    number: int
    first_seq: int = 0
    started_at: int = 0
    ended_at: int = 0
    status: str = "running"
    model: str = ""
    task: str = ""
    reason: str = ""
    error: ErrorDetails | None = None
    rating: str = ""
    check_rating: str = ""
    note: Text = Text()
    tags: tuple[str, ...] = ()
    calls: dict[str, CallSummary] = field(default_factory=dict)
    files: dict[str, LineCounts] = field(default_factory=dict)
    decisions: list[str] = field(default_factory=list)
    issues: list[str] = field(default_factory=list)
    turns: int = 0
    retries: int = 0
    questions: int = 0
    declined: int = 0
    unanswered: list[str] = field(default_factory=list)
    tokens: int = 0
    answer: str = ""
    copied: bool = False

    @property
    def effective_rating(self) -> EffectiveRating:
        """The user's rating, else that of the task's own check.

        It is `unknown` for a run that completed without a rating.
        """
        match self.rating or self.check_rating:
            case "up":
                return "good"
            case "down":
                return "bad"
            case _:
                return "unknown"

    @property
    def last_decision(self) -> str:
        return self.decisions[-1] if self.decisions else ""

    @property
    def failed(self) -> bool:
        """Whether the run was rated bad, or ended badly without a rating. A good rating outweighs the status."""
        if self.effective_rating == "unknown":
            return self.status in {"failed", "limit"}
        return self.effective_rating == "bad"


class RunSummaryBuilder:
    """Builds the summaries of a session's runs from its events, which are applied one by one.

    No summary is final before the last event, because a rating may come much later. `full_text` returns a long text in
    full. It is used for the outputs of failed calls, because programs report an error at the end of their output.
    """

    def __init__(self, full_text: Callable[[Text], str] = lambda text: text.head) -> None:
        self.summaries: dict[int, RunSummary] = {}
        self._full_text = full_text
        self._unsent = _UnsentMessages()
        self._task = Text()
        self._requested: dict[str, str] = {}  # the object of each permission request, by call ID

    def apply(self, entry: EventRecord) -> None:
        self._unsent.apply(entry.seq, entry.event)
        match entry.event:
            case RunStarted(model=model):
                self._task = self._unsent.last or self._task
                self.summaries[entry.run] = RunSummary(
                    session=entry.session,
                    number=entry.run,
                    first_seq=entry.seq,
                    started_at=entry.at,
                    ended_at=entry.at,
                    model=model,
                    task=first_line(self._task),
                )
            case SessionForked():
                for run in self.summaries.values():
                    run.copied = True
            case RunRated(run_number=number):
                if number in self.summaries:
                    _rate(self.summaries[number], entry.event)
            case CallRefused(call_id=call) if entry.run in self.summaries:
                _refuse(self.summaries[entry.run], entry.event, entry, self._requested.get(call, ""))
            case _ if entry.run in self.summaries:
                if isinstance(entry.event, PermissionRequested):
                    self._requested[entry.event.request.call_id] = entry.event.request.object
                _apply(self.summaries[entry.run], entry)
                if isinstance(entry.event, ToolReturned):
                    self._note_output(self.summaries[entry.run].calls.get(entry.event.call_id), entry.event.output)
            case _:
                pass

    def _note_output(self, call: CallSummary | None, output: Text) -> None:
        """Store the last line of an output. A long output is loaded in full only if the call failed."""
        if call and (not output.blob or call.status == "failed"):
            call.output = last_line(self._full_text(output))


class _UnsentMessages:
    """The user messages that were not sent to the model yet, with the user's latest edits."""

    def __init__(self) -> None:
        # By sequence number; also has removed messages, because the user may restore them.
        self._texts: dict[int, Text] = {}
        self._queue: list[int] = []

    @property
    def last(self) -> Text | None:
        """The last message. When a run starts, it is the task of that run."""
        return self._texts[self._queue[-1]] if self._queue else None

    def apply(self, seq: int, event: SessionEvent) -> None:
        match event:
            case UserMessage(text=text):
                self._texts[seq] = text
                self._queue.append(seq)
            case QueueChanged(target_seq=target, order=order, text=text):
                if target in self._texts:
                    self._texts[target] = text
                self._queue = [queued for queued in order if queued in self._texts]
            case RequestSent(purpose=""):
                for sent in self._queue:
                    del self._texts[sent]
                self._queue = []
            case _:
                pass


def _rate(run: RunSummary, event: RunRated) -> None:
    if event.by == "check":
        run.check_rating = event.rating
    else:
        run.rating = event.rating
        run.note = event.note
        run.tags = event.tags


def _refuse(run: RunSummary, event: CallRefused, entry: EventRecord, object: str) -> None:
    """Record a refused call. `object` is empty for a call with invalid arguments."""
    run.ended_at = max(run.ended_at, entry.at)
    run.calls[event.call_id] = CallSummary(
        seq=entry.seq,
        id=event.call_id,
        tool=event.tool,
        object=object,
        status="refused",
        output=first_line(event.reason),
        started_at=entry.at,
        ended_at=entry.at,
        decision=run.last_decision,
    )


def _apply(run: RunSummary, entry: EventRecord) -> None:
    match entry.event:
        case RequestSent():
            run.ended_at = entry.at
        case Replied(text=text, usage=usage):
            run.turns += 1
            run.tokens += usage.input + usage.output
            run.answer = first_line(text) or run.answer
        case ContextCompacted(usage=usage):
            run.tokens += usage.input + usage.output
        case RequestRetried():
            run.retries += 1
        case CallStarted(call_id=call, tool=tool, object=object):
            run.calls[call] = CallSummary(
                seq=entry.seq,
                id=call,
                tool=tool,
                object=object,
                started_at=entry.at,
                decision=run.last_decision,
            )
        case ToolReturned(call_id=call, failed=failed) if call in run.calls:
            summary = run.calls[call]
            summary.status = "failed" if failed else "done"
            summary.ended_at = entry.at
        case FileChanged(path=path, added=added, removed=removed):
            before = run.files.get(path, LineCounts())
            run.files[path] = LineCounts(before.added + added, before.removed + removed)
        case DecisionMade(intent=intent, choice=choice):
            run.decisions.append(first_line(f"{intent}: {choice}"))
        case IssueReported(severity=severity, description=description):
            run.issues.append(first_line(f"{severity}: {description}"))
        case QuestionAsked(question=question):
            run.questions += 1
            run.unanswered.append(question.id)
        case QuestionAnswered(question_id=name, answer=answer):
            run.declined += answer.declined
            run.unanswered = [open_id for open_id in run.unanswered if open_id != name]
        case PermissionRequested(request=request):
            run.unanswered.append(request.id)
        case PermissionDecided(request_id=name):
            run.unanswered = [open_id for open_id in run.unanswered if open_id != name]
        case RunInterrupted(reason=reason):
            run.status, run.reason = "interrupted", reason
        case RunPaused(reason=reason):
            run.status, run.reason = "paused", reason
        case RunResumed():
            run.status, run.reason = "running", ""
        case RunEnded(status=status, reason=reason, error=failure):
            run.status, run.reason, run.error = STATUS_AFTER_END[status], reason, failure
        case _:
            return
    run.ended_at = max(run.ended_at, entry.at)


def last_line(text: str) -> str:
    """Return the last line that is not empty. Programs report there what went wrong."""
    return first_line(next((line for line in reversed(text.splitlines()) if line.strip()), ""))
