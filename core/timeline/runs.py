"""What a run came to, folded from its facts in one pass: the ground of every question to the past."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from core.domain.events import (
    CallRefused,
    CallStarted,
    ContextCompacted,
    DecisionMade,
    Entry,
    FileChanged,
    PersonSpoke,
    ProblemReported,
    Replied,
    RequestSent,
    Retried,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
    SessionForked,
    ToolReturned,
    VerdictGiven,
)
from core.domain.problems import Trouble
from core.domain.question import QuestionAnswered, QuestionAsked
from core.domain.steps import line
from core.domain.text import Text

Judgement = Literal["good", "bad", "unknown"]
ENDINGS = {"completed": "done", "stopped": "stopped", "limit": "limit", "failed": "failed"}


@dataclass(slots=True)
class CallMade:
    """A call and how it ended: done, failed, refused, or open where nobody knows. `decision` stood when it was made."""

    seq: int
    id: str
    tool: str
    object: str = ""
    status: Literal["open", "done", "failed", "refused"] = "open"
    output: str = ""
    began: int = 0
    ended: int = 0
    decision: str = ""


@dataclass(slots=True)
class RunMade:
    """A run. `status` is how it ended, `verdict` what a person thought of it, `checked` what its own check said.

    `copied`: it happened in the session this one was forked from, and must not be counted twice.
    """

    session: str
    number: int
    first: int = 0
    began: int = 0
    ended: int = 0
    status: str = "running"
    model: str = ""
    task: str = ""
    reason: str = ""
    trouble: Trouble | None = None
    verdict: str = ""
    checked: str = ""
    note: Text = Text()
    tags: tuple[str, ...] = ()
    calls: dict[str, CallMade] = field(default_factory=dict)
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    decisions: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    rounds: int = 0
    retries: int = 0
    questions: int = 0
    declined: int = 0
    tokens: int = 0
    answer: str = ""
    copied: bool = False

    @property
    def judgement(self) -> Judgement:
        """The person's word before the check's before none. That a run completed says nothing of it."""
        word = self.verdict or self.checked
        return "good" if word == "up" else "bad" if word == "down" else "unknown"

    @property
    def failed(self) -> bool:
        """Did it end badly, or was it judged so? A person's thumb up outweighs the status."""
        return self.judgement == "bad" or (self.judgement == "unknown" and self.status in {"failed", "limit"})


class Runs:
    """Folds facts to the runs of a session. A verdict may come much later: none is done before the end."""

    def __init__(self) -> None:
        self.made: dict[int, RunMade] = {}
        self._words = Text()

    def hear(self, entry: Entry) -> None:
        match entry.event:
            case PersonSpoke(text=text):
                self._words = text
            case RunStarted(model=model):
                run = RunMade(entry.session, entry.run, entry.seq, entry.at, entry.at, model=model)
                run.task = line(self._words)
                self.made[entry.run] = run
            case SessionForked():
                for run in self.made.values():
                    run.copied = True
            case VerdictGiven(number=number):
                if number in self.made:
                    _judge(self.made[number], entry.event)
            case _ if entry.run in self.made:
                _hear(self.made[entry.run], entry)
            case _:
                pass


def runs(entries: Iterable[Entry]) -> list[RunMade]:
    """The runs of a session in order."""
    folded = Runs()
    for entry in entries:
        folded.hear(entry)
    return list(folded.made.values())


def _judge(run: RunMade, given: VerdictGiven) -> None:
    if given.by == "check":
        run.checked = given.verdict
    else:
        run.verdict, run.note, run.tags = given.verdict, given.note, given.tags


def _hear(run: RunMade, entry: Entry) -> None:
    match entry.event:
        case RequestSent():
            run.ended = entry.at
        case Replied(text=text, usage=usage):
            run.rounds += 1
            run.tokens += usage.input + usage.output
            run.answer = line(text) or run.answer
        case ContextCompacted(usage=usage):
            run.tokens += usage.input + usage.output
        case Retried():
            run.retries += 1
        case CallStarted(call_id=call, tool=tool, object=what):
            stands = run.decisions[-1] if run.decisions else ""
            run.calls[call] = CallMade(entry.seq, call, tool, what, began=entry.at, decision=stands)
        case CallRefused(call_id=call, tool=tool, reason=reason):
            run.calls[call] = CallMade(
                entry.seq, call, tool, "", "refused", line(reason), began=entry.at, ended=entry.at
            )
        case ToolReturned(call_id=call, output=output, failed=failed) if call in run.calls:
            made = run.calls[call]
            made.status, made.output, made.ended = ("failed" if failed else "done"), last_line(output), entry.at
        case FileChanged(path=path, added=added, removed=removed):
            before = run.files.get(path, (0, 0))
            run.files[path] = (before[0] + added, before[1] + removed)
        case DecisionMade(intent=intent, choice=choice):
            run.decisions.append(line(f"{intent}: {choice}"))
        case ProblemReported(severity=severity, what=what):
            run.problems.append(line(f"{severity}: {what}"))
        case QuestionAsked():
            run.questions += 1
        case QuestionAnswered(answer=answer):
            run.declined += answer.declined
        case RunInterrupted(why=why):
            run.status, run.reason = "interrupted", why
        case RunPaused(why=why):
            run.status, run.reason = "paused", why
        case RunResumed():
            run.status, run.reason = "running", ""
        case RunEnded(status=status, reason=reason, trouble=trouble):
            run.status, run.reason, run.trouble = ENDINGS[status], reason, trouble
        case _:
            return
    run.ended = max(run.ended, entry.at)


def last_line(text: Text) -> str:
    """The last line that says something: where programs put what went wrong."""
    return line(next((part for part in reversed(text.head.splitlines()) if part.strip()), ""))
