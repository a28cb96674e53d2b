"""Fold facts into the rows a person reads.

A row is written when a fact opens it and written again when a later fact changes it. `Outline` is the open end of a
session's rows: all that the next fact needs, and all of it can be read back from the rows themselves.
"""

from collections.abc import Mapping
from types import MappingProxyType

from core.domain.agents import AgentJoined, AgentTurned
from core.domain.consent import CallAllowed, ConsentAsked, ConsentGiven, ConsentRequest, ModeSet
from core.domain.events import (
    CallRefused,
    CallStarted,
    CallsWritten,
    CommandEnded,
    ContextCompacted,
    DecisionMade,
    Delegated,
    DelegateEnded,
    Entry,
    FileChanged,
    HookRan,
    LimitMet,
    LimitRaised,
    ModelChosen,
    Nudged,
    PersonSpoke,
    ProblemReported,
    QueueChanged,
    Replied,
    ReplyCut,
    RequestSent,
    Retried,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
    SandboxProven,
    SessionForked,
    SessionOpened,
    Tainted,
    ToolReturned,
    VerdictGiven,
)
from core.domain.exchanged import RecordKept, TranscriptRead
from core.domain.filing import Filing
from core.domain.notices import notice, of_guide
from core.domain.pen import OBJECT_LIMIT as OBJECT_LIMIT
from core.domain.pen import OPEN as OPEN
from core.domain.pen import Outline as Outline
from core.domain.pen import Pen as _Pen
from core.domain.pen import Step as Step
from core.domain.pen import line as line
from core.domain.proposal import ProposalMade
from core.domain.question import QuestionAnswered, QuestionAsked, QuestionHeld, spoken
from core.domain.recalled import MemoryFailed, MemoryRecalled
from core.domain.rewinding import FilesRewound
from core.domain.schedule import Scheduled
from core.domain.skill import SkillUsed
from core.domain.worktree import WorktreeMade

VERBS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        # kind: (while it goes on, afterwards)
        "run": ("Run", "Run"),
        "person": ("Queued", "You said"),
        "guide": ("Read", "Read"),
        "thinking": ("Thinking", "Thought"),
        "reply": ("Replying", "Replied"),
        "read": ("Reading", "Read"),
        "write": ("Writing", "Wrote"),
        "edit": ("Editing", "Edited"),
        "find": ("Looking for", "Looked for"),
        "search": ("Searching", "Searched"),
        "command": ("Running", "Ran"),
        "check": ("Looking after", "Looked after"),
        "fetch": ("Fetching", "Fetched"),
        "search_web": ("Searching the web", "Searched the web"),
        "hook": ("Running your hook", "Ran your hook"),
        "todo": ("Planning", "Planned"),
        "decision": ("Deciding", "Decided"),
        "problem": ("Reporting", "Reported"),
        "delegate": ("Delegating", "Delegated"),
        "tool": ("Calling", "Called"),
        "refused": ("Not run", "Not run"),
        "question": ("Asks you", "You answered"),
        "consent": ("Asks to", "Asked to"),
        "interrupted": ("Interrupted", "Interrupted"),
        "paused": ("Paused", "Paused"),
        "notice": ("Notice", "Notice"),
        "compaction": ("Compacting", "Compacted"),
        "recall": ("Looking back at", "Looked back at"),
        "skill": ("Using the skill", "Used the skill"),
        "proposal": ("Proposing", "Proposed"),
        "memory": ("Recalling", "Recalled"),
        "remember": ("Remembering", "Remembered"),
        "forget": ("Forgetting", "Forgot"),
        "end": ("Ended", "Ended"),
        "fork": ("Forked from", "Forked from"),
        "rewind": ("Put back", "Put back"),
        "verdict": ("Your verdict", "Your verdict"),
    }
)

# Kinds of which the word for afterwards says more than is so where it came to nothing.
UNDONE: Mapping[str, str] = MappingProxyType(
    {
        "guide": "Not read",
        "person": "Taken back",
        "read": "Tried to read",
        "write": "Tried to write",
        "edit": "Tried to edit",
        "fetch": "Tried to fetch",
        "search_web": "Tried to search the web",
        "question": "Not answered",
        "skill": "Tried to use the skill",
        "remember": "Tried to remember",
        "forget": "Tried to forget",
    }
)
CAME_TO_NOTHING = frozenset({"failed", "stopped", "skipped", "unknown", "unknown-ended"})


def verb(kind: str, status: str) -> str:
    """The word in front of the object."""
    doing, done = VERBS.get(kind, VERBS["tool"])
    if status in {"running", "waiting", "queued"}:
        return doing
    return UNDONE.get(kind, done) if status in CAME_TO_NOTHING else done


def fold(entry: Entry, outline: Outline) -> list[Step]:
    """Bring `outline` up to `entry`; return the rows that are new or changed, in order."""
    changed = _Pen(entry, outline)
    match entry.event:
        case RunStarted(guides=guides):
            changed.open("run", key="run")
            for guide in guides:
                changed.add("guide", "failed" if guide.trouble else "done", object=line(of_guide(guide)))
        case PersonSpoke() | QueueChanged():
            _say(entry.event, changed)
        case RequestSent():
            _request(entry.event, changed)
        case Replied():
            _reply(entry.event, changed)
        case ContextCompacted():
            _compact(entry.event, changed)
        case ReplyCut(text=text, why=why):
            changed.close("request", "stopped", object=line(why))
            if text.head:
                changed.add("reply", "stopped", object=line(text))
        case Retried(trouble=trouble, wait_s=wait_s):
            changed.close("request", "failed", object=line(trouble.what), marks={"wait_ms": int(wait_s * 1000)})
        case Delegated() | DelegateEnded() | MemoryRecalled() | MemoryFailed() | ProposalMade():
            _beside(entry.event, changed)
        case CallStarted() | CallRefused() | FileChanged() | ToolReturned() | Tainted() | HookRan():
            _call(entry.event, changed)
        case CommandEnded():
            _command(entry.event, changed)
        case QuestionAsked(question=question):
            changed.open("question", key=question.id, object=line(question.text), status="waiting", numbered=True)
        case QuestionAnswered(question_id=question_id, answer=answer):
            status = "stopped" if answer.declined or answer.expired else "done"
            changed.close(question_id, status, object=line(spoken(answer)))
        case ConsentAsked(request=request):
            changed.open("consent", key=request.id, object=_wanted(request), status="waiting", numbered=True)
        case ConsentGiven(request_id=request_id, allowed=allowed):
            changed.close(request_id, "done" if allowed else "stopped", marks={"allowed": int(allowed)})
        case SessionOpened() | CallAllowed() | QuestionHeld() | DecisionMade() | ProblemReported() | Filing():
            pass  # said by the list, or by the row of their call
        case SandboxProven(level="verified", open=()) | RecordKept():
            pass  # as it should be, or counted where a reading ends
        case SkillUsed() | TranscriptRead(more=True):
            pass  # said by the row of their call, or where the reading ends
        case (
            LimitMet() | LimitRaised() | Nudged() | ModeSet() | ModelChosen() | CallsWritten() | SandboxProven()
            | Scheduled() | WorktreeMade() | TranscriptRead() | AgentJoined() | AgentTurned()
        ):  # fmt: skip
            changed.add("notice", "done", object=line(notice(entry.event)))
        case RunPaused(why=why):
            _pause(why, changed)
        case RunInterrupted(why=why, calls=calls):
            _interrupt(why, calls, changed)
        case RunResumed(settled=settled):
            _resume(settled, changed)
        case RunEnded(status=status, reason=reason):
            _end(status, reason, changed)
        case SessionForked() | FilesRewound() | VerdictGiven():
            _look_back(entry.event, changed)
    return changed.rows()


def _say(event: PersonSpoke | QueueChanged, changed: "_Pen") -> None:
    """Words of the person. While the model works on what it was asked before they wait for the next request."""
    run = changed.outline.open.get("run")
    if isinstance(event, QueueChanged):
        _rearrange(event, changed)
    elif run and "rounds" in run.marks:
        changed.add("person", "queued", key=_queued(changed.entry.seq), object=line(event.text))
    else:
        changed.add("person", "done", object=line(event.text))


def _queued(seq: int) -> str:
    """The key of the row of words that wait."""
    return f"said-{seq}"


def _rearrange(event: QueueChanged, changed: "_Pen") -> None:
    """What becomes of words that wait; the order in which they wait is seen there."""
    key = _queued(event.target)
    match event.did:
        case "edited":
            changed.turn(key, "queued", object=line(event.text))
        case "taken back":
            changed.close(key, "stopped")
        case "put back":
            changed.open("person", key=key, object=line(event.text), status="queued")
        case "moved":
            return
    changed.add("notice", "done", object=line(notice(event)))


def _wanted(request: ConsentRequest) -> str:
    """What it asks to do, and with what; an agent of others may not say the first."""
    act = "" if request.tool == "other" else request.tool
    return line(f"{act} {request.object}".strip())


def _call(event: CallStarted | CallRefused | FileChanged | ToolReturned | Tainted | HookRan, changed: "_Pen") -> None:
    """What became of a call."""
    match event:
        case CallStarted(call_id=call, step=kind, object=what):
            changed.open(kind, key=call, object=line(what), numbered=True)
        case CallRefused(tool=tool, reason=reason):
            changed.add("refused", "failed", object=line(f"{tool}: {reason.head}"), numbered=True)
        case FileChanged(call_id=call, added=added, removed=removed):
            changed.mark(call, files=1, added=added, removed=removed)
            changed.count(files=1)
        case ToolReturned(call_id=call, output=output, failed=failed, exit_code=code):
            marks = {"bytes": output.size or len(output.head)} | ({} if code is None else {"exit": code})
            if changed.close(call, "failed" if failed else "done", marks=marks):
                changed.count(calls=1)
        case Tainted(call_id=call):
            changed.mark(call, outside=1)
        case HookRan(moment=moment, command=command, exit_code=code, refused=refused):
            marks = {} if code is None else {"exit": code}
            status = "stopped" if refused else "done" if code == 0 else "failed"
            changed.add("hook", status, object=line(f"{moment}: {command}"), marks=marks)


def _command(event: CommandEnded, changed: "_Pen") -> None:
    """One that no call waited for."""
    status = "stopped" if event.why else "failed" if event.exit_code else "done"
    marks = {"background": 1} | ({} if event.exit_code is None or event.why else {"exit": event.exit_code})
    changed.add("command", status, object=line(event.command), numbered=True, marks=marks)


def _beside(event: Delegated | DelegateEnded | MemoryRecalled | MemoryFailed | ProposalMade, changed: "_Pen") -> None:
    """What other sessions gave: in the row of the call what a sub-agent used, in one of its own what is remembered."""
    match event:
        case Delegated(call_id=call):
            changed.mark(call, children=1)
        case DelegateEnded(call_id=call, rounds=rounds, tokens=tokens, cost=cost):
            changed.mark(call, tokens=tokens, cost=cost, rounds=rounds)
            changed.count(tokens=tokens, cost=cost)
        case MemoryRecalled(items=items):
            count = "1 memory" if len(items) == 1 else f"{len(items)} memories"
            said = f"{count}: {'; '.join(item.text for item in items)}"
            changed.add("memory", "done", object=line(said), marks={"memories": len(items)})
        case ProposalMade(steps=steps):
            changed.propose(steps)
        case MemoryFailed(doing=doing, trouble=trouble):
            changed.add("notice", "failed", object=line(f"memory failed at {doing}: {trouble.what}"))


def _look_back(event: SessionForked | FilesRewound | VerdictGiven, changed: "_Pen") -> None:
    """What a person did with the session, besides running it."""
    match event:
        case SessionForked(origin=origin):
            changed.add("fork", "done", object=line(origin))
        case FilesRewound(files=files, left=left):
            names = line(", ".join(file.path for file in files))
            changed.add("rewind", "stopped" if left else "done", object=names, marks={"files": len(files)})
        case VerdictGiven():
            changed.add("verdict", "done", object=_verdict(event))


def _verdict(event: VerdictGiven) -> str:
    """As a person reads it: the word, whose it is, the note, the tags."""
    word = {"up": "good", "down": "bad", "": "taken back"}[event.verdict]
    whose = "the check says " if event.by == "check" else ""
    tags = " ".join(f"#{tag}" for tag in event.tags)
    return line(" ".join(part for part in (whose + word, line(event.note), tags) if part))


def _request(event: RequestSent, changed: "_Pen") -> None:
    """A request that follows one that was cut or failed is of the same round."""
    if event.role not in ("", "agent"):
        changed.open("compaction", key="compaction", object="the context")
    else:
        if not event.role:  # an agent of others that asks its own model takes no words along
            changed.deliver()
        changed.open("thinking", key="request", numbered=True)
        changed.reach(rounds=event.round)


def _reply(event: Replied, changed: "_Pen") -> None:
    spent = event.usage.input + event.usage.output
    marks = {"tokens": event.usage.output} if event.usage.output else {}
    said = line(event.reasoning) or line(", ".join(call.tool for call in event.calls)) or "the answer"
    cost, priced = event.cost or 0.0, {} if event.cost is None else {"priced": 1}
    if not changed.close("request", "done", object=said, marks=marks, tokens=spent, cost=cost) and event.reasoning.head:
        changed.add("thinking", "done", object=said, numbered=True, marks=marks)  # nobody saw it begin
    if event.note:
        changed.add("notice", "done", object=line(event.note))
    if event.text.head:
        changed.add("reply", "done", object=line(event.text))
    changed.count(thoughts=1, tokens=spent, cost=cost, **priced)


def _compact(event: ContextCompacted, changed: "_Pen") -> None:
    spent = event.usage.input + event.usage.output
    marks = {"before": event.before, "after": event.after, "folded": len(event.folded), "dropped": event.dropped}
    changed.open("compaction", key="compaction")
    cost = event.cost or 0.0
    changed.close("compaction", "done", object=line(event.why), marks=marks, tokens=spent, cost=cost)
    changed.count(tokens=spent, cost=cost)


def _pause(why: str, changed: "_Pen") -> None:
    changed.close("request", "stopped")
    changed.close("compaction", "stopped")
    changed.turn("run", "paused")
    changed.open("paused", key="paused", object=line(why), status="paused")


def _interrupt(why: str, calls: tuple[str, ...], changed: "_Pen") -> None:
    changed.close("request", "stopped")
    changed.close("compaction", "stopped")
    for call in calls:
        changed.turn(call, "unknown")
    changed.turn("run", "interrupted")
    if "interrupted" not in changed.outline.open:
        what = ", ".join(step.object for step in changed.outline.open.values() if step.status == "unknown")
        changed.open(
            "interrupted", key="interrupted", object=line(what or why), status="waiting", marks={"calls": len(calls)}
        )


def _resume(settled: str, changed: "_Pen") -> None:
    changed.close("interrupted", "done")
    changed.close("paused", "done")
    changed.turn("run", "running")
    if settled == "skip":
        for step in tuple(changed.outline.open.values()):
            if step.status == "unknown":
                changed.close(step.key, "skipped")


def _end(status: str, reason: str, changed: "_Pen") -> None:
    for step in tuple(changed.outline.open.values()):
        if step.key != "run" and step.status != "queued":
            changed.close(step.key, "unknown-ended" if step.status == "unknown" else "stopped")
    header = changed.outline.open.get("run")
    marks = dict(header.marks) if header else {}
    began = header.began if header else changed.entry.at
    changed.close("run", status)
    changed.add("end", status, object=line(reason), marks=marks, began=began)
