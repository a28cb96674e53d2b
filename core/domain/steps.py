"""Derives the rows of the timeline from events.

A row is stored when an event creates it, and again whenever a later event changes it. The Outline is the state between
two events, and can be restored from the stored rows.
"""

from core.domain.events import (
    READ_AHEAD,
    BackgroundCommandEnded,
    CallRefused,
    CallStarted,
    ContextCompacted,
    DecisionMade,
    EventRecord,
    FileChanged,
    HarnessMessage,
    HookRan,
    IssueReported,
    LimitRaised,
    LimitThresholdReached,
    ModelChanged,
    QueueChanged,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunRated,
    RunResumed,
    RunStarted,
    SandboxTested,
    SessionCreated,
    SessionForked,
    SubagentEnded,
    SubagentStarted,
    TextCallsEnabled,
    ToolReturned,
    UntrustedContentRead,
    UserMessage,
)
from core.domain.external_agents import ExternalAgentSettingChanged, ExternalAgentStarted
from core.domain.import_events import TranscriptImported, UnrecognizedRecordsKept
from core.domain.notices import instruction_file_text, notice_text
from core.domain.permissions import CallAllowed, ModeChanged, PermissionDecided, PermissionRequest, PermissionRequested
from core.domain.problems import ErrorDetails
from core.domain.proposal import ProposalCreated
from core.domain.question import QuestionAnswered, QuestionAnswerStarted, QuestionAsked, answer_text
from core.domain.recall_events import MemoriesRecalled, MemoryOperationFailed
from core.domain.refusals import text_for_user
from core.domain.rewind_events import FilesRewound
from core.domain.schedule import ScheduleTriggered
from core.domain.session_metadata import SessionMetadataEvent
from core.domain.skill import SkillUsed
from core.domain.step_verbs import VERBS as VERBS
from core.domain.step_verbs import verb as verb
from core.domain.step_writer import MESSAGE_PREFIX
from core.domain.step_writer import OBJECT_LIMIT as OBJECT_LIMIT
from core.domain.step_writer import OPEN_STATUSES as OPEN_STATUSES
from core.domain.step_writer import Outline as Outline
from core.domain.step_writer import Step as Step
from core.domain.step_writer import StepWriter as _StepWriter
from core.domain.step_writer import first_line as first_line
from core.domain.worktree import WorktreeCreated


def fold(entry: EventRecord, outline: Outline) -> list[Step]:
    """Apply an event to the outline, which is modified; return the new and changed rows in timeline order."""
    changed = _StepWriter(entry, outline)
    match entry.event:
        case RunStarted():
            _run_start(entry.event, changed)
        case UserMessage() | QueueChanged():
            _user_message(entry.event, changed)
        case CallStarted() | CallRefused() | FileChanged() | ToolReturned() | UntrustedContentRead() | HookRan():
            _call(entry.event, changed)
        case RequestSent():
            _request(entry.event, changed)
        case Replied():
            _reply(entry.event, changed)
        case ContextCompacted():
            _compact(entry.event, changed)
        case ReplyInterrupted(text=text, reason=reason):
            changed.close("request", "stopped", object=first_line(reason))
            if text.head.strip():
                changed.add("reply", "stopped", object=first_line(text))
        case RequestRetried(error=error, wait_s=wait_s):
            changed.close(
                "request", "failed", object=first_line(error.message), metrics={"wait_ms": int(wait_s * 1000)}
            )
        case SubagentStarted() | SubagentEnded() | MemoriesRecalled() | MemoryOperationFailed() | ProposalCreated():
            _side_event(entry.event, changed)
        case BackgroundCommandEnded():
            _command(entry.event, changed)
        case QuestionAsked(question=question):
            changed.open("question", key=question.id, object=first_line(question.text), status="waiting", numbered=True)
        case QuestionAnswered(question_id=question_id, answer=answer):
            status = "stopped" if answer.declined or answer.expired else "done"
            changed.close(question_id, status, object=first_line(answer_text(answer)))
        case PermissionRequested(request=request):
            changed.open("permission", key=request.id, object=_request_text(request), status="waiting", numbered=True)
        case PermissionDecided(request_id=request_id, allowed=allowed, arguments=arguments):
            marks = {"allowed": int(allowed)} | ({"changed": 1} if arguments.head else {})
            changed.close(request_id, "done" if allowed else "stopped", metrics=marks)
        case (
            SessionCreated() | CallAllowed() | QuestionAnswerStarted() | DecisionMade() | IssueReported()
            | SessionMetadataEvent()
        ):  # fmt: skip
            pass  # shown in the session list or in the row of the tool call, if at all
        case SandboxTested(level="verified", escapes=()) | UnrecognizedRecordsKept():
            pass  # the sandbox works, or the records are counted by TranscriptImported
        case SkillUsed() | TranscriptImported(partial=True):
            pass  # shown in the row of the tool call, or at the end of the import
        case (
            LimitThresholdReached() | LimitRaised() | HarnessMessage() | ModeChanged() | ModelChanged()
            | TextCallsEnabled() | SandboxTested() | ScheduleTriggered() | WorktreeCreated() | TranscriptImported()
            | ExternalAgentStarted() | ExternalAgentSettingChanged()
        ):  # fmt: skip
            changed.add("notice", "done", object=first_line(notice_text(entry.event)))
        case RunPaused() | RunInterrupted() | RunResumed() | RunEnded():
            _run_state(entry.event, changed)
        case SessionForked() | FilesRewound() | RunRated():
            _user_action(entry.event, changed)
    return changed.changed_rows()


def _run_start(event: RunStarted, changed: _StepWriter) -> None:
    changed.open("run", key="run")
    for file in event.instruction_files:
        status = "failed" if file.error else "done"
        changed.add("instructions", status, object=first_line(instruction_file_text(file)))


def _run_state(event: RunPaused | RunInterrupted | RunResumed | RunEnded, changed: _StepWriter) -> None:
    match event:
        case RunPaused(reason=reason, error=error):
            _close_failed_request(error, changed)
            _pause(reason, changed)
        case RunInterrupted(reason=reason, call_ids=calls):
            _interrupt(reason, calls, changed)
        case RunResumed(resolution=resolution):
            _resume(resolution, changed)
        case RunEnded(status=status, reason=reason, error=error):
            _close_failed_request(error, changed)
            _end(status, reason, changed)


def _user_message(event: UserMessage | QueueChanged, changed: _StepWriter) -> None:
    """Add a user message, or update the queue.

    A message sent during a turn is queued for the next request. One that starts a run follows the queued messages, with
    which it is sent.
    """
    run = changed.outline.open.get("run")
    if isinstance(event, QueueChanged):
        _update_queue(event, changed)
    elif run and "turns" in run.metrics:
        changed.add("user", "queued", key=_message_key(changed.entry.seq), object=first_line(event.text))
    else:
        if not run:
            changed.mark_delivered()
        changed.add("user", "done", object=first_line(event.text))


def _message_key(seq: int) -> str:
    """Return the key of a queued message's row, given the number of its UserMessage event."""
    return f"{MESSAGE_PREFIX}{seq}"


def _update_queue(event: QueueChanged, changed: _StepWriter) -> None:
    """Update the rows of the queued messages, and add a notice unless only their order has changed."""
    key = _message_key(event.target_seq)
    match event.action:
        case "edited":
            changed.set_status(key, "queued", object=first_line(event.text))
        case "removed":
            changed.close(key, "stopped")
        case "restored":
            changed.open("user", key=key, object=first_line(event.text), status="queued")
        case "moved":
            pass
    changed.order_queue([_message_key(seq) for seq in event.order])
    if event.action != "moved":
        changed.add("notice", "done", object=first_line(notice_text(event)))


def _request_text(request: PermissionRequest) -> str:
    """Return the text of a permission request: the tool, which an external agent may not name, and the object."""
    tool = "" if request.tool == "other" else request.tool
    return first_line(f"{tool} {request.object}".strip())


def _call(
    event: CallStarted | CallRefused | FileChanged | ToolReturned | UntrustedContentRead | HookRan,
    changed: _StepWriter,
) -> None:
    """Apply an event of a tool call, or of a hook."""
    match event:
        case CallStarted(call_id=call, step_kind=kind, object=object):
            changed.open(kind, key=call, object=first_line(object), numbered=True)
        case CallRefused(tool=tool, reason=reason):
            changed.add("refused", "failed", object=first_line(f"{tool}: {text_for_user(reason.head)}"), numbered=True)
        case FileChanged(call_id=call, added=added, removed=removed):
            changed.add_metrics(call, files=1, added=added, removed=removed)
            changed.add_run_metrics(files=1)
        case ToolReturned(call_id=call) if _is_background_agent(call, changed):
            changed.add_run_metrics(calls=1)  # the row stays open until the sub-agent ends
        case ToolReturned(call_id=call, output=output, failed=failed, exit_code=code):
            marks = {"bytes": output.size or len(output.head)} | ({} if code is None else {"exit_code": code})
            if changed.close(call, "failed" if failed else "done", metrics=marks):
                changed.add_run_metrics(calls=1)
        case UntrustedContentRead(call_id=call):
            changed.add_metrics(call, untrusted=1)
        case HookRan(trigger=moment, command=command, exit_code=code, blocked=refused):
            marks = {} if code is None else {"exit_code": code}
            status = "done" if code == 0 else "failed"
            text = first_line(f"{moment}: {command}")
            changed.add("hook", "stopped" if refused else status, object=text, metrics=marks)


def _is_background_agent(call: str, changed: _StepWriter) -> bool:
    """Return whether this call has started a background sub-agent that has not ended."""
    step = changed.outline.open.get(call)
    return step is not None and step.kind == "delegate" and bool(step.metrics.get("background"))


def _command(event: BackgroundCommandEnded, changed: _StepWriter) -> None:
    """Add a row for a background command that has ended."""
    marks = {"background": 1}
    if event.reason:
        status = "stopped"
    else:
        status = "failed" if event.exit_code else "done"
        if event.exit_code is not None:
            marks["exit_code"] = event.exit_code
    changed.add("command", status, object=first_line(event.command), numbered=True, metrics=marks)


def _side_event(
    event: SubagentStarted | SubagentEnded | MemoriesRecalled | MemoryOperationFailed | ProposalCreated,
    changed: _StepWriter,
) -> None:
    """Apply an event of a sub-agent, a memory or a proposal."""
    match event:
        case SubagentStarted(call_id=call, background=background):
            changed.add_metrics(call, subagents=1, **({"background": 1} if background else {}))
        case SubagentEnded(call_id=call, status=status, turns=turns, tokens=tokens, cost=cost):
            changed.add_metrics(call, tokens=tokens, cost=cost, turns=turns)
            changed.add_run_metrics(tokens=tokens, cost=cost)
            if _is_background_agent(call, changed):
                changed.close(call, {"completed": "done", "stopped": "stopped"}.get(status, "failed"))
        case MemoriesRecalled(memories=items):
            count = "1 memory" if len(items) == 1 else f"{len(items)} memories"
            text = f"{count}: {'; '.join(item.text for item in items)}"
            changed.add("memory", "done", object=first_line(text), metrics={"memories": len(items)})
        case ProposalCreated(steps=steps):
            changed.mark_proposed(steps)
        case MemoryOperationFailed(operation=operation, error=error):
            changed.add("notice", "failed", object=first_line(f"memory failed while {operation}: {error.message}"))


def _user_action(event: SessionForked | FilesRewound | RunRated, changed: _StepWriter) -> None:
    """Apply an event for a user action on the session: a fork, a rewind or a rating."""
    match event:
        case SessionForked(forked_from=origin):
            changed.add("fork", "done", object=first_line(origin))
        case FilesRewound(files=files, skipped=skipped, undoes_seq=undoes_seq):
            paths = ", ".join(file.path for file in files)
            names = first_line(f"the revert of {paths}" if undoes_seq else paths)
            changed.add("rewind", "stopped" if skipped else "done", object=names, metrics={"files": len(files)})
        case RunRated():
            changed.add("rating", "done", object=_rating_text(event))


def _rating_text(event: RunRated) -> str:
    """Return the text of a rating: who gave it unless the user did, the rating, the note and the tags."""
    rating = {"up": "good", "down": "bad", "": "removed"}[event.rating]
    author = "by the check: " if event.by == "check" else ""
    tags = " ".join(f"#{tag}" for tag in event.tags)
    return first_line(" ".join(part for part in (author + rating, first_line(event.note), tags) if part))


def _request(event: RequestSent, changed: _StepWriter) -> None:
    """Open a row for a model request: *thinking*, or *compaction* for a summary. A retry reuses the open row."""
    if event.purpose not in ("", "external_agent"):
        changed.open("compaction", key="compaction", object="the context")
    else:
        if not event.purpose:  # requests by an external agent itself do not carry queued messages
            changed.mark_delivered()
        changed.open("thinking", key="request", numbered=True)
        changed.set_run_metrics(turns=event.turn)


def _reply(event: Replied, changed: _StepWriter) -> None:
    token_count = event.usage.input + event.usage.output
    marks = {"tokens": event.usage.output} if event.usage.output else {}
    topic = first_line(event.reasoning) or first_line(", ".join(call.tool for call in event.calls)) or "the answer"
    cost = event.cost or 0.0
    priced = {} if event.cost is None else {"priced": 1}
    had_request = changed.close("request", "done", object=topic, metrics=marks, tokens=token_count, cost=cost)
    if not had_request and event.reasoning.head:  # in imported sessions, no RequestSent has opened a row
        changed.add("thinking", "done", object=topic, numbered=True, metrics=marks)
    if event.note:
        changed.add("notice", "done", object=first_line(event.note))
    if event.text.head.strip():
        changed.add("reply", "done", object=first_line(event.text))
    own_calls = {"own_calls": len(event.calls)} if event.stop_reason == READ_AHEAD else {}
    changed.add_run_metrics(thoughts=1, tokens=token_count, cost=cost, **priced, **own_calls)


def _compact(event: ContextCompacted, changed: _StepWriter) -> None:
    token_count = event.usage.input + event.usage.output
    marks = {
        "before": event.tokens_before,
        "after": event.tokens_after,
        "truncated": len(event.truncated_calls),
        "compacted": event.compacted_messages,
    }
    changed.open("compaction", key="compaction")
    cost = event.cost or 0.0
    changed.close("compaction", "done", object=first_line(event.reason), metrics=marks, tokens=token_count, cost=cost)
    changed.add_run_metrics(tokens=token_count, cost=cost)


def _close_failed_request(error: ErrorDetails | None, changed: _StepWriter) -> None:
    """Close the open request as failed if an error ended or paused the run."""
    if error is not None:
        changed.close("request", "failed", object=first_line(error.message))


def _pause(reason: str, changed: _StepWriter) -> None:
    changed.close("request", "stopped")
    changed.close("compaction", "stopped")
    changed.set_status("run", "paused")
    changed.open("paused", key="paused", object=first_line(reason), status="paused")


def _interrupt(reason: str, calls: tuple[str, ...], changed: _StepWriter) -> None:
    changed.close("request", "stopped")
    changed.close("compaction", "stopped")
    for call in calls:
        changed.set_status(call, "unknown")
    changed.set_status("run", "interrupted")
    if "interrupted" not in changed.outline.open:
        unresolved = ", ".join(step.object for step in changed.outline.open.values() if step.status == "unknown")
        changed.open(
            "interrupted",
            key="interrupted",
            object=first_line(unresolved or reason),
            status="waiting",
            metrics={"calls": len(calls)},
        )


def _resume(resolution: str, changed: _StepWriter) -> None:
    changed.close("interrupted", "done")
    changed.close("paused", "done")
    changed.set_status("run", "running")
    if resolution == "skip":
        for step in tuple(changed.outline.open.values()):
            if step.status == "unknown":
                changed.close(step.key, "skipped")


def _end(status: str, reason: str, changed: _StepWriter) -> None:
    for step in tuple(changed.outline.open.values()):
        if step.key != "run" and step.status != "queued":
            changed.close(step.key, "unknown-ended" if step.status == "unknown" else "stopped")
    header = changed.outline.open.get("run")
    marks = dict(header.metrics) if header else {}
    started_at = header.started_at if header else changed.entry.at
    changed.close("run", status)
    changed.add("end", status, object=first_line(reason), metrics=marks, started_at=started_at)
