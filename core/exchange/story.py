"""Facts retold: what was said, done, asked and noted, each thing whole; what the readable formats are made of."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from core.domain.consent import ConsentAsked, ConsentGiven
from core.domain.events import (
    Call,
    CallRefused,
    CallStarted,
    CallsWritten,
    CommandEnded,
    ContextCompacted,
    DecisionMade,
    Delegated,
    Entry,
    FileChanged,
    LimitMet,
    LimitRaised,
    ModelChosen,
    Nudged,
    PersonSpoke,
    ProblemReported,
    Replied,
    ReplyCut,
    RequestSent,
    Retried,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunPaused,
    RunStarted,
    SandboxProven,
    Tainted,
    ToolReturned,
    Usage,
    VerdictGiven,
)
from core.domain.exchanged import TranscriptRead
from core.domain.notices import notice
from core.domain.question import QuestionAnswered, QuestionAsked, spoken
from core.domain.rewinding import FilesRewound
from core.domain.steps import line
from core.domain.text import Attachment


@dataclass(slots=True)
class Began:
    """A run begins, the number-th of its session."""

    at: int
    number: int
    model: str


@dataclass(slots=True)
class Ended:
    at: int
    status: str
    reason: str = ""


@dataclass(slots=True)
class Spoke:
    """Words of the person."""

    at: int
    text: str
    attachments: tuple[Attachment, ...] = ()


@dataclass(slots=True)
class Act:
    """A call and what became of it: done, failed, refused, or open where nobody knows."""

    at: int
    call: Call
    kind: str = "tool"
    object: str = ""
    status: str = "open"
    output: str = ""
    ended: int = 0
    exit_code: int | None = None
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    child: str = ""
    called: str = ""
    asked: str = ""
    answer: str = ""


@dataclass(slots=True)
class Answered:
    """A reply of the agent, from when it was asked for, and the calls it led to."""

    at: int
    asked: int
    model: str
    text: str = ""
    reasoning: str = ""
    usage: Usage = Usage()
    cost: float | None = None
    stop: str = ""
    acts: list[Act] = field(default_factory=list)


@dataclass(slots=True)
class Noted:
    """Something that is neither word nor act."""

    at: int
    text: str


Told = Began | Ended | Spoke | Answered | Noted


class Story:
    """Gathers what belongs together: a reply is told once its calls have ended and the next thing begins.

    What comes while a call is open waits for it: other replies of an agent that does several things at once, words of
    the person, notes.
    """

    def __init__(self) -> None:
        self._held: list[Told] = []
        self._acts: dict[str, Act] = {}
        self._asked = 0
        self._going = False
        self._words: list[Spoke] = []
        self._model = ""
        self._requests: dict[str, str] = {}

    def hear(self, entry: Entry) -> Iterator[Told]:
        """What can be told by now."""
        match event := entry.event:
            case PersonSpoke(text=text, attachments=attachments):
                spoke = Spoke(entry.at, text.head, attachments)
                if self._going:
                    yield from self._next(spoke)
                else:  # the words that a run begins with stand below its heading
                    yield from self.end()
                    self._words.append(spoke)
            case RunStarted(model=model):
                words, self._words = self._words, []
                yield from self.end()
                self._model, self._going = model, True
                yield Began(entry.at, entry.run, model)
                yield from words
            case RequestSent(model=model, role=""):
                yield from self.end()
                self._asked, self._model = entry.at, model
            case RequestSent(role="agent"):  # calls of it may be open, and nothing is told yet
                self._asked = entry.at
            case Replied():
                yield from self._reply(event, entry.at)
            case RunEnded(status=status, reason=reason):
                yield from self.end()
                self._going = False
                yield Ended(entry.at, status, reason)
            case _:
                if not self._act(event, entry.at) and (said := noted(event)):
                    yield from self._next(Noted(entry.at, said))

    def end(self) -> Iterator[Told]:
        """What is held is told as it is."""
        told, self._held = self._held, []
        self._acts.clear()
        yield from told
        words, self._words = self._words, []
        yield from words

    def _next(self, told: Told) -> Iterator[Told]:
        """A call that is open holds what comes after it; a reply is held for its own calls as well."""
        if not any(act.status == "open" for act in self._acts.values()):
            yield from self.end()
        if self._held or isinstance(told, Answered):
            self._held.append(told)
        else:
            yield told

    def _reply(self, event: Replied, at: int) -> Iterator[Told]:
        acts = [Act(at, call, object=line(call.arguments)) for call in event.calls]
        answered = Answered(
            at, self._asked or at, self._model, event.text.head, event.reasoning.head, event.usage, event.cost,
            event.stop, acts,
        )  # fmt: skip
        yield from self._next(answered)
        self._acts |= {act.call.id: act for act in acts}

    def _act(self, event: RunEvent, at: int) -> bool:
        """Did it say something of a call?"""
        act = self._acts.get(getattr(event, "call_id", ""))
        if isinstance(event, ConsentAsked | ConsentGiven):
            return self._consent(event)
        if act is None:
            return False
        match event:
            case CallStarted(step=kind, object=what):
                act.at, act.kind, act.object = at, kind, what
            case ToolReturned(output=output, failed=failed, exit_code=code):
                act.status, act.output, act.exit_code = "failed" if failed else "done", output.head, code
                act.ended = at
            case CallRefused(reason=reason):
                act.status, act.output, act.ended = "refused", reason.head, at
            case FileChanged(path=path, added=added, removed=removed):
                before = act.files.get(path, (0, 0))
                act.files[path] = (before[0] + added, before[1] + removed)
            case Delegated(child=child, called=called):
                act.child, act.called = child, called
            case QuestionAsked(question=question):
                act.kind, act.asked = "question", "\n".join(part.text for part in question.forms())
            case QuestionAnswered(answer=answer):
                act.answer, act.status, act.ended = spoken(answer), "done", at
            case DecisionMade() | ProblemReported() | Tainted():
                return isinstance(event, Tainted)
            case _:
                pass
        return True

    def _consent(self, event: ConsentAsked | ConsentGiven) -> bool:
        if isinstance(event, ConsentAsked):
            self._requests[event.request.id] = event.request.call_id
            return True
        act = self._acts.get(self._requests.pop(event.request_id, ""))
        if act:
            act.answer = "allowed by you" if event.allowed else "refused by you"
        return act is not None


def retold(entries: Iterable[Entry]) -> Iterator[Told]:
    """A whole journal."""
    story = Story()
    for entry in entries:
        yield from story.hear(entry)
    yield from story.end()


def noted(event: RunEvent) -> str:
    """The words of a fact that is no word and no act; empty for one that says nothing to a reader."""
    match event:
        case LimitMet() | LimitRaised() | Nudged() | ModelChosen() | CallsWritten() | TranscriptRead(more=False):
            return notice(event)
        case SandboxProven(open=found) if found:
            return notice(event)
        case ReplyCut(text=text, why=why):
            return f"The reply was cut: {why}. {text.head}".strip()
        case Retried(trouble=trouble):
            return f"Tried again: {trouble.what}"
        case ContextCompacted(why=why, before=before, after=after, summary=summary):
            figures = f", {before:,} to {after:,} tokens" if before and after else ""
            return f"The context was compacted ({why}{figures}). {summary.head}".strip()
        case CommandEnded(command=command, exit_code=code, output=output):
            return f"{command} ended in the background{'' if code is None else f', exit {code}'}. {output.head}".strip()
        case DecisionMade(intent=intent, choice=choice, reason=reason):
            return f"Decided: {intent} → {choice}" + (f", because {reason}" if reason else "")
        case ProblemReported(severity=severity, what=what, fix=fix):
            return f"A problem ({severity}): {what}" + (f". What may help: {fix}" if fix else "")
        case RunPaused(why=why):
            return f"Paused: {why}" if why else "Paused"
        case RunInterrupted(why=why):
            return f"Interrupted: {why}"
        case FilesRewound(files=files):
            return f"Files put back: {', '.join(file.path for file in files)}" if files else ""
        case VerdictGiven(verdict=verdict, note=note) if verdict:
            return f"Your verdict: {'good' if verdict == 'up' else 'bad'}" + (f", {note.head}" if note.head else "")
        case _:
            return ""


def arguments_of(call: Call) -> dict[str, Any]:
    """The arguments of a call as an object; words that are none stand under `text`."""
    words = call.arguments.head
    try:
        plain = json.loads(words) if words.strip() else {}
    except (ValueError, RecursionError):
        return {"text": words}
    return plain if isinstance(plain, dict) else {"value": plain}
