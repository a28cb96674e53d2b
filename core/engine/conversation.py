"""Fold facts into what the model sees, and what is still owed to it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from core.domain.clock import SECOND
from core.domain.consent import ConsentGiven, ModeSet
from core.domain.events import (
    Call,
    CallRefused,
    CallStarted,
    CallsWritten,
    ContextCompacted,
    Delegated,
    DelegateEnded,
    Entry,
    LimitMet,
    LimitRaised,
    ModelChosen,
    Nudged,
    PersonSpoke,
    QueueChanged,
    Replied,
    RequestSent,
    Retried,
    RunEnded,
    RunInterrupted,
    RunResumed,
    RunStarted,
    ToolReturned,
)
from core.domain.filing import Filing
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked, QuestionHeld, spoken
from core.domain.recalled import MemoryRecalled
from core.domain.rewinding import FilesRewound, Rewound
from core.domain.skill import SkillUsed
from core.domain.text import Attachment, Text
from core.engine.compaction import MEMORY, NOTES, PERSON, REPLIES, SKILLS, compacted
from core.engine.limits import FIELDS
from core.engine.repeats import Repeats
from core.engine.rights import Rights
from core.engine.strangers import source_of
from core.engine.weights import Weights
from core.models.tokens import learned
from core.timeline.ledger import RESULTS

TOO_LONG = "its server found it too long"
PERSONS = (QuestionAnswered, ConsentGiven, ModeSet, RunResumed, RunStarted, RunInterrupted)  # they took the time
NOT_RUN = Text("[This call was not run: the run ended before it.]")


@dataclass(slots=True)
class Conversation:
    """The messages so far, and the open end of the run.

    Attributes:
        pending: calls of the last reply that have no result yet, in order.
        started: those of them that may have had an effect already, with what they act on.
        waiting: words of the person that the model has not been sent; `withdrawn` those they took back, by entry.
        questions: what was asked in this run: the answer, or None while it is open; `asked` are those of the agent
            itself, with their times, and `held` those somebody has begun to answer.
        rights: what decides whether a call may happen.
        spent: what this run used of its limits; `allowed` what it may use, `noticed` the limits that were told of.
        repeats: equal results in a row.
        seq: the last entry that was heard; none is heard twice.
        rounds: replies of this run; `turn` also counts the requests that failed.
        done: the last reply asked for nothing; `cut_short` it reached the most that one may have.
        start: how the run was started; `task` are the entries with the words it began with.
        stumbled: a call of the last reply failed.
        used: the skills that were read, by the call that did; they stay through every compaction.
        dropped: calls whose results are no longer sent whole, with the entries that hold them.
        compactions: how many there were; `first_dropped` and `last_dropped` are the entries a summary stands for.
        ratios: real tokens to estimated ones, by model; `sent` is what the last request was, estimated.
        ceiling: a request of so many tokens was too long for the server; 0 where none was.
        told: memories the model has been told; `remembered` is the last message of the person they were looked up for.
        weights: what the messages weigh. No fact, and counted only when somebody asks.
        children: the sessions of sub-agents, by the calls that began them.
    """

    messages: list[Message] = field(default_factory=list)
    pending: dict[str, Call] = field(default_factory=dict)
    started: dict[str, str] = field(default_factory=dict)
    waiting: list[Message] = field(default_factory=list)
    withdrawn: dict[int, Message] = field(default_factory=dict)
    questions: dict[str, Answer | None] = field(default_factory=dict)
    asked: dict[str, Question] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    rights: Rights = field(default_factory=Rights)
    spent: dict[str, float] = field(default_factory=dict)
    allowed: dict[str, float] = field(default_factory=dict)
    noticed: set[str] = field(default_factory=set)
    repeats: Repeats = field(default_factory=Repeats)
    at: int = 0
    seq: int = 0
    rounds: int = 0
    turn: int = 0
    done: bool = False
    cut_short: bool = False
    total_rounds: int = 0
    start: RunStarted | None = None
    children: dict[str, str] = field(default_factory=dict)
    run: int = 0
    task: tuple[int, ...] = ()
    stumbled: bool = False
    dropped: dict[str, int] = field(default_factory=dict)
    used: dict[str, SkillUsed] = field(default_factory=dict)
    compactions: int = 0
    first_dropped: int = 0
    last_dropped: int = 0
    ratios: dict[str, float] = field(default_factory=dict)
    sent: tuple[str, float] = ("", 0.0)
    ceiling: int = 0
    writing: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    remembered: int = 0
    weights: Weights = field(default_factory=Weights, compare=False)

    def hear(self, entry: Entry) -> None:
        """Bring the conversation up to `entry`."""
        if entry.seq <= self.seq:
            return
        self.seq = entry.seq
        if isinstance(entry.event, Filing):
            return  # neither the model's business nor the run's time
        self._count(entry)
        self.run = entry.run
        self.rights.hear(entry.event)
        match entry.event:
            case RunStarted() | ModelChosen():
                self._begin(entry.event)
            case PersonSpoke() | Nudged() | FilesRewound() | MemoryRecalled():
                self._wait(entry.event)
            case QueueChanged():
                self._rearrange(entry.event)
            case RequestSent(role="", model=model, tokens=tokens):
                self.messages += self.waiting
                self.waiting.clear()
                self.sent = model, sum(tokens.values()) / self.ratio(model)
            case ContextCompacted():
                self._compact(entry.event)
            case CallsWritten(model=model):
                self.writing.add(model)
            case Replied():
                self._reply(entry.event)
            case Retried():
                self.turn += 1
            case CallStarted(call_id=name, object=what):
                self.started[name] = what
            case ToolReturned(call_id=name, output=output, failed=failed, attachments=attached):
                self.repeats.result(name, output.blob or output.head, failed)
                self._note_source(name, output)
                self._settle(name, output, failed, attached)
            case CallRefused(call_id=name, reason=reason):
                self.repeats.result(name, reason.head, True)
                self._settle(name, reason, failed=True)
            case SkillUsed() | Delegated():
                self._note(entry.event)
            case QuestionAsked(question=question, call_id=name):
                self.questions[question.id] = None
                if name:
                    self.asked[question.id] = replace(question, asked=entry.at)
            case QuestionHeld(question_id=name):
                self.held.add(name)
            case QuestionAnswered(question_id=question_id, call_id=name, answer=answer):
                self.questions[question_id] = answer
                self._settle(name, Text(spoken(answer)))
            case LimitMet() | LimitRaised() | ModeSet():
                self._terms(entry.event)
            case RunEnded():
                self._end()
            case _:
                pass

    def _end(self) -> None:
        for name in tuple(self.pending):
            self._settle(name, NOT_RUN, failed=True)
        self.done = True

    def doubted(self) -> dict[str, str]:
        """The calls that started and did not return: id → what a person sees of them.

        One that began a session is not in doubt: that session knows what became of it.
        """
        started = (call for call in self.pending if call in self.started and call not in self.children)
        return {call: self.started[call] for call in started}

    @property
    def unanswered(self) -> list[str]:
        """The questions that are open."""
        return [name for name, answer in self.questions.items() if answer is None]

    def ratio(self, model: str) -> float:
        """Real tokens of a model to estimated ones, as far as its server has told."""
        return self.ratios.get(model, 1.0)

    def _note(self, event: SkillUsed | Delegated) -> None:
        """What a call is besides."""
        if isinstance(event, SkillUsed):
            self.used[event.call_id] = event
        else:
            self.children[event.call_id] = event.child

    def _learn(self, counted: int) -> None:
        model, estimated = self.sent
        if counted and estimated:
            self.ratios[model] = learned(self.ratio(model), round(estimated), counted)

    def _reply(self, reply: Replied) -> None:
        text, calls, reasoning, carry = reply.text, reply.calls, reply.reasoning, reply.carry
        self.messages.append(Message("assistant", text, calls, "", False, reasoning, carry, (), self.seq, REPLIES))
        self._learn(reply.usage.input)
        self.stumbled = False
        for call in calls:
            self.pending[call.id] = call  # an agent of others begins calls while earlier ones are open
            self.repeats.call(call.id, call.tool, call.arguments.head)
        self.rounds += 1
        self.total_rounds += 1
        self.turn += 1
        self.done = not calls
        self.cut_short = reply.stop == "length"

    def _wait(self, event: PersonSpoke | Nudged | FilesRewound | MemoryRecalled) -> None:
        """Words for the model, which the next request carries."""
        match event:
            case PersonSpoke(text=text, attachments=attachments):
                self.waiting.append(Message("user", text, attachments=attachments, seq=self.seq, kind=PERSON))
            case Nudged(text=text):
                self.waiting.append(Message("user", text, seq=self.seq, kind=NOTES))
            case MemoryRecalled():
                self._remember(event)
            case FilesRewound(files=files):
                if files:
                    self.waiting.append(Message("user", Text(put_back_note(files)), seq=self.seq, kind=NOTES))

    def _remember(self, recalled: MemoryRecalled) -> None:
        """What is remembered stands before the words it was looked up for."""
        self.remembered = recalled.to
        self.told.update(item.memory for item in recalled.items)
        place = next((at for at, one in enumerate(self.waiting) if one.kind == PERSON), len(self.waiting))
        self.waiting.insert(place, Message("user", recalled.told, seq=self.seq, kind=MEMORY))

    def _rearrange(self, change: QueueChanged) -> None:
        """What was sent meanwhile stays sent; what is not named any more is kept, for it may be put back."""
        words = self.withdrawn | {message.seq: message for message in self.waiting if message.kind == PERSON}
        if change.did == "edited" and change.target in words:
            words[change.target] = replace(words[change.target], text=change.text)
        notes = [message for message in self.waiting if message.kind != PERSON]
        self.waiting = notes + [words.pop(seq) for seq in dict.fromkeys(change.order) if seq in words]
        self.withdrawn = words

    def _compact(self, done: ContextCompacted) -> None:
        """Less stands for what was said. What it was can be read back by its entry."""
        before = self.messages
        self.messages, origins = compacted(before, self.seq, done)
        stay = set(origins)
        for place, message in enumerate(before):
            if place not in stay and message.role == "tool":
                self.dropped.setdefault(message.call_id, message.seq)
        self.weights.follow(self.messages, origins)
        self.compactions += 1
        if done.until:
            self.first_dropped = self.first_dropped or done.first
            self.last_dropped = max(self.last_dropped, done.until)
        if done.why == TOO_LONG:
            self.ceiling = done.before

    def _begin(self, start: RunStarted | ModelChosen) -> None:
        if isinstance(start, ModelChosen):
            self.start = chosen_for(self.start, start) if self.start else None
            return
        self.start = start
        self.task = tuple(message.seq for message in self.waiting) or self.task
        self.stumbled = False
        self.rounds = self.turn = 0
        self.done = False
        self.questions, self.asked, self.held = {}, {}, set()
        self.spent = {}
        self.noticed = set()
        self.repeats = Repeats()
        self.allowed = {limit: float(getattr(start, name)) for limit, name in FIELDS.items()}

    def _count(self, entry: Entry) -> None:
        """What the run used. The time a person took is the person's, and so is the time Journeyman was closed."""
        event = entry.event
        if not isinstance(event, PERSONS):
            passed = max(0, entry.at - self.at) / (60 * SECOND)
            # While a sub-agent waits for the person, the time is the person's as well.
            spent = min(passed, event.minutes) if isinstance(event, DelegateEnded) else passed
            self.spent["minutes"] = self.spent.get("minutes", 0.0) + spent
        if isinstance(event, DelegateEnded):
            for limit, used in (("tokens", event.tokens), ("cost", event.cost)):
                self.spent[limit] = self.spent.get(limit, 0.0) + used
        self.at = entry.at
        if isinstance(event, Replied):
            self.spent["rounds"] = self.spent.get("rounds", 0.0) + 1
        if isinstance(event, Replied | ContextCompacted):
            self.spent["cost"] = self.spent.get("cost", 0.0) + (event.cost or 0.0)
            self.spent["tokens"] = self.spent.get("tokens", 0.0) + event.usage.input + event.usage.output

    def _note_source(self, call: str, output: Text) -> None:
        """Words of others are told from ours by the call that brought them."""
        if call not in self.pending or call not in self.started:
            return
        if source := source_of(self.pending[call].tool, self.started[call]):
            self.rights.sources[output] = source

    def _terms(self, event: LimitMet | LimitRaised | ModeSet) -> None:
        """On what terms the run goes on. The next run begins on the same."""
        if isinstance(event, ModeSet):
            self.start = replace(self.start, mode=event.mode) if self.start else None
        elif isinstance(event, LimitRaised):
            self.allowed[event.limit] = event.allowed
            self.noticed.discard(event.limit)
        else:
            self.noticed.add(event.limit)

    def _settle(self, call: str, output: Text, failed: bool = False, attached: tuple[Attachment, ...] = ()) -> None:
        """A call has its one result."""
        if asked := self.pending.pop(call, None):
            kind = SKILLS if call in self.used and not self.used[call].file else f"{RESULTS}{asked.tool}"
            said = Message("tool", output, (), call, failed, attachments=attached, seq=self.seq, kind=kind)
            place = place_of(call, self.messages)
            self.messages.insert(place, said)
            self.weights.slip_in(place, said)
            self.stumbled = self.stumbled or failed
        self.started.pop(call, None)


def place_of(call: str, messages: list[Message]) -> int:
    """Where a result stands: behind what asked for it, in the order of its calls, whichever ended first."""
    place = len(messages)
    while place and not any(each.id == call for each in messages[place - 1].calls):
        place -= 1
    if not place:  # what asked for it was summed up
        return len(messages)
    asked = [each.id for each in messages[place - 1].calls]
    earlier = asked[: asked.index(call)]
    while place < len(messages) and messages[place].call_id in earlier:
        place += 1
    return place


def chosen_for(start: RunStarted, chosen: ModelChosen) -> RunStarted:
    """How the run goes on, and the next one begins."""
    return replace(
        start,
        model=chosen.model,
        effort=chosen.effort,
        max_output=chosen.max_output,
        temperature=chosen.temperature,
    )


def put_back_note(files: tuple[Rewound, ...]) -> str:
    """What the model is told: its own picture of these files is of another time."""
    return f"[The person changed these files back to an older state: {', '.join(file.path for file in files)}.]"


def conversation(entries: Iterable[Entry]) -> Conversation:
    """All at once what `hear` does one by one."""
    folded = Conversation()
    for entry in entries:
        folded.hear(entry)
    return folded


def start_of(talk: Conversation) -> RunStarted:
    """How the last run of a session was started. What it alone was allowed is not allowed to the next."""
    if talk.start is None:
        raise Problem("This session has no run.", "", "Start one with a message.")
    return replace(talk.start, allow=())
