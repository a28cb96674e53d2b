"""Fold facts into the rows a person reads.

A row is written when a fact opens it and written again when a later fact changes it. `Outline` is the open end of a
session's rows: all that the next fact needs, and all of it can be read back from the rows themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from core.domain.consent import MODE_WORDS
from core.domain.events import (
    CallAllowed,
    CallRefused,
    CallStarted,
    ConsentAsked,
    ConsentGiven,
    ContextCompacted,
    DecisionMade,
    Entry,
    FileChanged,
    FilesRewound,
    Guide,
    LimitMet,
    LimitRaised,
    ModelChosen,
    ModeSet,
    Nudged,
    PersonSpoke,
    ProblemReported,
    QuestionAnswered,
    QuestionAsked,
    Replied,
    ReplyCut,
    RequestSent,
    Retried,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
    SessionForked,
    SessionOpened,
    Tainted,
    Text,
    ToolReturned,
    VerdictGiven,
)
from core.domain.question import spoken

OBJECT_LIMIT = 300
OPEN = frozenset({"running", "waiting", "unknown", "interrupted", "paused"})

VERBS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        # kind: (while it goes on, afterwards)
        "run": ("Run", "Run"),
        "person": ("You said", "You said"),
        "guide": ("Read", "Read"),
        "thinking": ("Thinking", "Thought"),
        "reply": ("Replying", "Replied"),
        "read": ("Reading", "Read"),
        "write": ("Writing", "Wrote"),
        "edit": ("Editing", "Edited"),
        "find": ("Looking for", "Looked for"),
        "search": ("Searching", "Searched"),
        "command": ("Running", "Ran"),
        "fetch": ("Fetching", "Fetched"),
        "todo": ("Planning", "Planned"),
        "decision": ("Deciding", "Decided"),
        "problem": ("Reporting", "Reported"),
        "tool": ("Calling", "Called"),
        "refused": ("Not run", "Not run"),
        "question": ("Asks you", "You answered"),
        "consent": ("Asks to", "You decided"),
        "interrupted": ("Interrupted", "Interrupted"),
        "paused": ("Paused", "Paused"),
        "notice": ("Notice", "Notice"),
        "compaction": ("Compacting", "Compacted"),
        "recall": ("Looking back at", "Looked back at"),
        "end": ("Ended", "Ended"),
        "fork": ("Forked from", "Forked from"),
        "rewind": ("Put back", "Put back"),
        "verdict": ("Your verdict", "Your verdict"),
    }
)


@dataclass(frozen=True, slots=True)
class Step:
    """One row. `number` is what a person counts, 0 for rows that are words or lines; `marks` are its small figures."""

    row: int
    kind: str
    status: str
    began: int
    number: int = 0
    key: str = ""
    object: str = ""
    ended: int = 0
    run: int = 0
    depth: int = 0
    tokens: int = 0
    cost: float = 0.0
    marks: Mapping[str, int] = field(default_factory=dict)
    first: int = 0
    last: int = 0


@dataclass(slots=True)
class Outline:
    """How many rows there are, the last number given, and the rows that later facts may still change, by key."""

    rows: int = 0
    numbers: int = 0
    open: dict[str, Step] = field(default_factory=dict)


def verb(kind: str, status: str) -> str:
    """The word in front of the object."""
    doing, done = VERBS.get(kind, VERBS["tool"])
    return doing if status in {"running", "waiting"} else done


def line(text: str | Text) -> str:
    """The first line that says something, cut to what a row can show."""
    words = text if isinstance(text, str) else text.head
    first = next((part for part in map(str.strip, words[: OBJECT_LIMIT * 4].splitlines()) if part), "")
    return first if len(first) <= OBJECT_LIMIT else first[: OBJECT_LIMIT - 1] + "…"


def fold(entry: Entry, outline: Outline) -> list[Step]:
    """Bring `outline` up to `entry`; return the rows that are new or changed, in order."""
    changed = _Pen(entry, outline)
    match entry.event:
        case RunStarted(guides=guides):
            changed.open("run", key="run")
            for guide in guides:
                changed.add("guide", "failed" if guide.trouble else "done", object=line(_guide(guide)))
        case PersonSpoke(text=text):
            changed.add("person", "done", object=line(text))
        case RequestSent(role=role):
            _request(role, changed)
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
        case CallStarted() | CallRefused() | FileChanged() | ToolReturned() | Tainted():
            _call(entry.event, changed)
        case QuestionAsked(question=question):
            changed.open("question", key=question.id, object=line(question.text), status="waiting", numbered=True)
        case QuestionAnswered(question_id=question_id, answer=answer):
            changed.close(question_id, "stopped" if answer.declined else "done", object=line(spoken(answer)))
        case ConsentAsked(request=request):
            changed.open("consent", key=request.id, object=line(request.object), status="waiting", numbered=True)
        case ConsentGiven(request_id=request_id, allowed=allowed):
            changed.close(request_id, "done" if allowed else "stopped", marks={"allowed": int(allowed)})
        case SessionOpened() | CallAllowed() | DecisionMade() | ProblemReported():
            pass  # said by the list, or by the row of their call
        case LimitMet() | LimitRaised() | Nudged() | ModeSet() | ModelChosen():
            changed.add("notice", "done", object=line(_notice(entry.event)))
        case RunPaused(why=why):
            changed.close("request", "stopped")
            changed.close("compaction", "stopped")
            changed.turn("run", "paused")
            changed.open("paused", key="paused", object=line(why), status="paused")
        case RunInterrupted(why=why, calls=calls):
            _interrupt(why, calls, changed)
        case RunResumed(settled=settled):
            _resume(settled, changed)
        case RunEnded(status=status, reason=reason):
            _end(status, reason, changed)
        case SessionForked() | FilesRewound() | VerdictGiven():
            _look_back(entry.event, changed)
    return changed.rows()


def _call(event: CallStarted | CallRefused | FileChanged | ToolReturned | Tainted, changed: "_Pen") -> None:
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


def _guide(guide: Guide) -> str:
    """What the folder said of itself, and how much of it was told."""
    if guide.trouble:
        return f"{guide.name}: {guide.trouble}"
    return guide.name if guide.told >= guide.size else f"{guide.name}: the first {guide.told:,} of {guide.size:,} signs"


def _notice(event: LimitMet | LimitRaised | Nudged | ModeSet | ModelChosen) -> str:
    match event:
        case ModelChosen(model=model, effort=effort):
            return f"the model is {model}" + (f", effort {effort}" if effort else "")
        case LimitMet(limit=limit, used=used, allowed=allowed):
            return f"{used:g} of {allowed:g} {limit}"
        case LimitRaised(limit=limit, allowed=allowed):
            return f"{limit}: up to {allowed:g}"
        case Nudged(why=why):
            return why
        case ModeSet(mode=mode):
            return f"Mode: {MODE_WORDS[mode]}"


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


def _request(role: str, changed: "_Pen") -> None:
    if role:
        changed.open("compaction", key="compaction", object="the context")
    else:
        changed.open("thinking", key="request", numbered=True)
        changed.count(rounds=1)


def _reply(event: Replied, changed: "_Pen") -> None:
    spent = event.usage.input + event.usage.output
    marks = {"tokens": event.usage.output} if event.usage.output else {}
    said = line(event.reasoning) or line(", ".join(call.tool for call in event.calls)) or "the answer"
    cost, priced = event.cost or 0.0, {} if event.cost is None else {"priced": 1}
    changed.close("request", "done", object=said, marks=marks, tokens=spent, cost=cost)
    if event.note:
        changed.add("notice", "done", object=line(event.note))
    if event.text.head:
        changed.add("reply", "done", object=line(event.text))
    changed.count(thoughts=1, tokens=spent, cost=cost, **priced)


def _compact(event: ContextCompacted, changed: "_Pen") -> None:
    spent = event.usage.input + event.usage.output
    marks = {"before": event.before, "after": event.after, "folded": len(event.folded), "dropped": event.dropped}
    changed.open("compaction", key="compaction")
    changed.close("compaction", "done", object=line(event.why), marks=marks, tokens=spent)
    changed.count(tokens=spent)


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
        if step.key != "run":
            changed.close(step.key, "unknown-ended" if step.status == "unknown" else "stopped")
    header = changed.outline.open.get("run")
    marks = dict(header.marks) if header else {}
    began = header.began if header else changed.entry.at
    changed.close("run", status)
    changed.add("end", status, object=line(reason), marks=marks, began=began)


class _Pen:
    """Writes rows for one entry: numbers them, keeps the open ones, collects what changed."""

    def __init__(self, entry: Entry, outline: Outline) -> None:
        self.entry = entry
        self.outline = outline
        self._changed: dict[int, Step] = {}

    def rows(self) -> list[Step]:
        return [self._changed[row] for row in sorted(self._changed)]

    def add(
        self,
        kind: str,
        status: str,
        *,
        key: str = "",
        object: str = "",
        numbered: bool = False,
        marks: Mapping[str, int] | None = None,
        began: int = 0,
    ) -> None:
        """A new row; it stays open while its status says so."""
        outline, entry = self.outline, self.entry
        outline.numbers += numbered
        step = Step(
            row=outline.rows,
            kind=kind,
            status=status,
            began=began or entry.at,
            number=outline.numbers if numbered else 0,
            key=key,
            object=object,
            ended=0 if status in OPEN else entry.at,
            run=entry.run,
            marks=marks or {},
            first=entry.seq,
            last=entry.seq,
        )
        outline.rows += 1
        self._put(step)

    def open(
        self,
        kind: str,
        *,
        key: str,
        object: str = "",
        status: str = "running",
        numbered: bool = False,
        marks: Mapping[str, int] | None = None,
    ) -> None:
        """A row that a later fact closes. A key that is open already is the same row, once more."""
        if key in self.outline.open:
            self.turn(key, status)
        else:
            self.add(kind, status, key=key, object=object, numbered=numbered, marks=marks)

    def turn(self, key: str, status: str) -> None:
        """Another status, still open."""
        if step := self.outline.open.get(key):
            self._put(replace(step, status=status, last=self.entry.seq))

    def close(
        self,
        key: str,
        status: str,
        *,
        object: str = "",
        marks: Mapping[str, int] | None = None,
        tokens: int = 0,
        cost: float = 0.0,
    ) -> bool:
        """The last word on an open row; False where there is none."""
        step = self.outline.open.get(key)
        if step is None:
            return False
        self._put(
            replace(
                step,
                status=status,
                object=object or step.object,
                ended=max(self.entry.at, step.began),
                marks={**step.marks, **(marks or {})},
                tokens=step.tokens + tokens,
                cost=step.cost + cost,
                last=self.entry.seq,
            )
        )
        return True

    def mark(self, key: str, *, tokens: int = 0, cost: float = 0.0, **amounts: int) -> None:
        """Add to the figures of an open row."""
        if step := self.outline.open.get(key):
            marks = dict(step.marks)
            for name, amount in amounts.items():
                marks[name] = marks.get(name, 0) + amount
            tokens, cost = step.tokens + tokens, step.cost + cost
            self._put(replace(step, marks=marks, tokens=tokens, cost=cost, last=self.entry.seq))

    def count(self, *, tokens: int = 0, cost: float = 0.0, **amounts: int) -> None:
        """Add to the totals of the run, in its header row."""
        self.mark("run", tokens=tokens, cost=cost, **amounts)

    def _put(self, step: Step) -> None:
        self._changed[step.row] = step
        if step.key and step.status in OPEN:
            self.outline.open[step.key] = step
        else:
            self.outline.open.pop(step.key, None)
