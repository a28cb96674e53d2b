"""What a run works with, and how it asks the person."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.domain.clock import SECOND, now
from core.domain.consent import Verdict
from core.domain.events import Call, CommandEnded, Entry, RunEnded, RunEvent, RunStarted, SandboxProven
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked, QuestionHeld, expired
from core.domain.text import Attachment, Text
from core.domain.tiers import ONE_FOR_ALL, Tiers, choose
from core.engine.acts import act, file_changed
from core.engine.conversation import Conversation
from core.engine.doubt import Settle
from core.engine.drafts import Drafts
from core.engine.hooks import Hook, Moment, hooks, refusal, run_hooks
from core.engine.skills import Skills
from core.engine.strangers import as_data, boundary
from core.engine.weights import weight_of_tools
from core.models.model import Model, Request, ToolSpec, Wanted
from core.models.spoken import Spoken
from core.models.tokens import estimate
from core.store.journal import Journal
from core.store.proposals import Proposals
from core.store.reader import Reader
from core.store.told import Told
from core.tools.catalogue import specs
from core.tools.commands import Ended
from core.tools.delegate import AT_ONCE, Delegate
from core.tools.place import Place
from core.tools.server_tools import offered
from core.tools.tool import Change, Tool

SENT_BACK = "[Your reply does not fit the schema"

Act = Callable[[Tool, str, Any, Place, dict[str, str]], Awaitable[tuple[list[RunEvent], dict[str, bytes]]]]
Giving = Callable[["Work", Call, Delegate], Awaitable[None]]

Judge = Callable[["Work", Tool, str, Any], Awaitable[Verdict | None]]


def each_once(make: Callable[[str], Model]) -> Callable[[str], Model]:
    """Models by name, each made when it is first wanted."""
    made: dict[str, Model] = {}

    def model(name: str) -> Model:
        if name not in made:
            made[name] = make(name)
        return made[name]

    return model


@dataclass(frozen=True, slots=True)
class Brief:
    """What every request of a run begins with."""

    start: RunStarted | None = None
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    weights: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Work:
    """One run. `talk` is the conversation so far, folded from the journal by the listener of the run.

    Attributes:
        place: the folder and all that a call may touch; opened for the run, closed when it is gone.
        seen: files the run has read, with the digests of their contents: what was not read is not edited.
        pausing: the person wants it to pause at the next boundary, or for this other reason.
        closing: Journeyman ends; nobody stopped the run.
        ringing: what the person's own commands are being told of, each set when they were.
        expires: questions, and the run itself, may run out of time; in a replay they do not. The time in which
            Journeyman was closed, before `began`, is not the person's.
        reading: set while a reply is being read; words sent now cut it.
        judge: says whether a call may happen; a replay gives the verdict of then.
        trusted: the person trusts the folder.
        claimed: questions and requests that somebody is about to answer, shared by all runs.
        brief: what the model is told of itself, and the tools it has; made anew for each start.
        looked: requests that neither mode nor rules decide, so that a person has to.
        seats, delegate: how many sub-agents work at once, and how a call becomes one.
        settle: what a person said of calls that may have run; sub-agents that are taken up again are told.
        models, tiers: further models by name, and which of them does what.
        compacts: whether the context is kept below what the model takes; `compact_at` is a limit a person set, in
            tokens, 0 none; `wants_room` is set where they ask for it at the next boundary.
        futile: the context was so large when nothing could give way.
        takes_calls: whether a model has tool calls, as far as is known.
        hooks: the person's own commands; None until they are looked for.
        skills, proposals: what was written down for work like this, and where the agent says what should be.
        act, sleep: how a tool acts and how a retry waits; a replay does neither.
    """

    session: str
    place: Place
    model_name: str
    model: Model
    talk: Conversation
    journal: Journal
    reader: Reader
    drafts: Drafts
    judge: "Judge"
    trusted: bool = True
    attended: bool = False
    seen: dict[str, str] = field(default_factory=dict)
    pausing: bool = False
    closing: bool = False
    pause_why: str = "paused by you"
    claimed: set[str] = field(default_factory=set)
    ringing: list[asyncio.Event] = field(default_factory=list)
    expires: bool = True
    began: int = field(default_factory=now)
    reading: asyncio.Timeout | None = None
    brief: Brief = field(default_factory=Brief)
    models: Callable[[str], Model] | None = None
    tiers: Callable[[], Tiers] = lambda: ONE_FOR_ALL
    compacts: bool = True
    compact_at: Callable[[], int] = lambda: 0
    wants_room: bool = False
    futile: int = 0
    looked: set[str] = field(default_factory=set)
    takes_calls: Callable[[str], bool | None] = lambda _: None
    seats: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    settle: Settle = ""
    delegate: Giving | None = None
    hooks: tuple[Hook, ...] | None = None
    skills: Skills | None = None
    proposals: Proposals | None = None
    act: Act = act
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the run may call; none is all."""
        return self.talk.start.tools if self.talk.start else ()

    def model_of(self, name: str) -> Model:
        """The model of this name."""
        model = self.model if name == self.model_name or self.models is None else self.models(name)
        if self.act is not act or not self.writes_calls(name):
            return model
        start = self.talk.start
        return Spoken(model, (start and start.boundary) or boundary(self.session))

    def writes_calls(self, name: str) -> bool:
        """Whether this model writes its calls as text."""
        start = self.talk.start
        return name in self.talk.writing or bool(start and start.in_words)

    def fixed(self) -> dict[str, int]:
        """Tokens that every request of the run begins with, by category."""
        return dict(self.briefed().weights)

    def briefed(self) -> Brief:
        """What every request begins with; made anew for each start."""
        start = self.talk.start
        if start and start is not self.brief.start:
            system, tools = self.whole(start.system), (*specs(start.tools), *self._of_servers(start))
            weights = {"system": estimate(system), "tools": weight_of_tools(tools)}
            self.brief = Brief(start, system, tools, {kind: tokens for kind, tokens in weights.items() if tokens})
        return self.brief

    def _of_servers(self, start: RunStarted) -> tuple[ToolSpec, ...]:
        """What the run was given of tool servers, where it is still accepted."""
        there = offered(self.place.servers.all()) if self.place.servers else {}
        return tuple(spec for name, spec in there.items() if name in start.tools)

    def request(self) -> Request:
        """What the model is sent now."""
        brief, talk = self.briefed(), self.talk
        start = brief.start
        role = "review" if start and start.review else f"agent:{start.role}" if start and start.role else ""
        return Request(
            talk.messages,
            talk.turn,
            role,
            tools=brief.tools,
            wanted=self.wanted(),
            whole=self.told,
            contents=self.contents,
            system=brief.system,
            schema=self._shape(start),
        )

    def _shape(self, start: RunStarted | None) -> dict[str, Any] | None:
        """What a server is to hold the model to: once a reply was sent back, for before it would hinder calls."""
        if start is None or not start.schema.head:
            return None
        last = self.talk.messages[-1] if self.talk.messages else None
        sent_back = last is not None and last.role == "user" and last.text.head.startswith(SENT_BACK)
        return dict(json.loads(self.whole(start.schema))) if sent_back else None

    def cut(self) -> None:
        """End the reply that is being read."""
        if self.reading:
            self.reading.reschedule(asyncio.get_running_loop().time())

    def keep(self) -> None:
        """The reply is whole: cut while it is written down, its calls would be heard of only after the next request."""
        if self.reading:
            self.reading.reschedule(None)
            self.reading = None

    def turn_to_chosen(self) -> None:
        """Work with the model that the person chose meanwhile."""
        start = self.talk.start
        if self.models and start and start.model != self.model_name:
            self.model = self.models(choose(self.tiers(), start.model, ()).model)
            self.model_name = start.model

    def wanted(self) -> Wanted:
        """What the person set for the replies; what is not set is not sent."""
        start = self.talk.start
        return Wanted(start.effort or None, start.max_output or None, start.temperature) if start else Wanted()

    def contents(self, attachment: Attachment) -> bytes:
        """What an attachment holds."""
        return self.reader.blob(attachment.blob)

    async def record(self, *events: RunEvent, blobs: dict[str, bytes] | None = None) -> Entry:
        """Make facts durable; the conversation hears of them before this returns."""
        return await self.journal.begin(self.session, *events, blobs=blobs)

    def begin(self, *events: RunEvent) -> asyncio.Future[Entry]:
        """The same, for an act that need not wait until it is done."""
        return self.journal.begin(self.session, *events)

    async def record_behind(
        self, begun: asyncio.Future[Entry], *events: RunEvent, blobs: dict[str, bytes] | None = None
    ) -> None:
        """Facts that follow others, which may still be on their way: nobody waits for the first to send the second."""
        kept = self.journal.begin(self.session, *events, blobs=blobs)
        try:
            await begun
            await kept
        finally:
            kept.cancel()  # where the first failed nobody asks for the second

    async def walls(self, tool: Tool) -> tuple[RunEvent, ...]:
        """How well commands are confined, as a fact, before the first that runs."""
        walls = self.place.walls
        if tool.touches != "runs" or walls.told or self.act is not act:  # a replay runs nothing
            return ()
        sandbox = await self.place.proven()
        walls.told = True
        proof = sandbox.proof
        return (SandboxProven(sandbox.name, sandbox.level, *((proof.open, proof.known) if proof else ())),)

    async def command_ended(self, ended: Ended) -> None:
        """What came of a command that no call waits for."""
        blobs: dict[str, bytes] = {}
        changes = [Change(one.path, one.before, one.after, one.modes) for one in ended.changes]
        events: list[RunEvent] = [file_changed(ended.call, change, blobs) for change in changes]
        if done := ended.done:
            events.append(CommandEnded(ended.call, ended.command, Text(done.output), done.exit_code, done.ended))
        await self.record(*events, blobs=blobs)

    def whole(self, text: Text) -> str:
        """A text in full."""
        return self.reader.blob(text.blob).decode("utf-8", "replace") if text.blob else text.head

    def told(self, text: Text) -> str:
        """A text as a model reads it: what others wrote is marked as data, and keys in it are left out."""
        source = self.talk.rights.sources.get(text)
        if source is None:
            return self.whole(text)
        start = self.talk.start
        return as_data(self.whole(text), source, (start and start.boundary) or boundary(self.session))

    def said(self) -> str:
        """The last words of the agent."""
        last: Message | None = next((m for m in reversed(self.talk.messages) if m.role == "assistant"), None)
        return last.text.head if last else ""

    async def hooked(self, moment: Moment, tool: str = "", **said: object) -> str:
        """Run the person's own commands of this moment; why one of them refuses. A replay runs none."""
        if self.act is not act:
            return ""
        if self.hooks is None:
            self.hooks = () if self.place.safe else hooks(self.place.data)
        if not self.hooks:
            return ""
        told = {"session": self.session, "run": self.talk.run, "model": self.model_name, **said}
        ran = await run_hooks(self.hooks, moment, tool, self.place.folder, told)
        if ran:
            await self.record(*ran)
        return refusal(ran)

    async def ended(self, last: RunEvent) -> None:
        """Tell the person's own commands of the end of a run."""
        if self.hooks is None:
            try:
                self.hooks = () if self.place.safe else hooks(self.place.data)
            except Problem:  # it was said when the run began
                self.hooks = ()
        if isinstance(last, RunEnded):
            await self.hooked("run end", status=last.status, reason=last.reason)

    async def put(self, fact: RunEvent, name: str, text: str, tool: str = "") -> None:
        """Put a question or request to the person at once, then tell their own commands of it."""
        self.ringing.append(told := asyncio.Event())
        try:
            await self.record(fact)
            await self.hooked("question", tool, question={"id": name, "text": text})
        finally:
            self.ringing.remove(told)
            told.set()

    async def rung(self) -> None:
        """Until the person's own commands were told of all that is asked."""
        for told in tuple(self.ringing):
            await told.wait()

    async def ask(self, question: Question, call_id: str = "") -> Answer:
        """Ask unless asked already, then wait until the answer is in the journal, whoever wrote it."""
        heard = asyncio.Event()

        def hear(told: Told) -> None:
            event = told.entry.event
            if isinstance(event, QuestionAnswered | QuestionHeld) and event.question_id == question.id:
                heard.set()

        forget = self.journal.listen(hear)
        try:
            if question.id not in self.talk.questions:
                await self.put(QuestionAsked(question, call_id), question.id, question.text)
            while self.talk.questions[question.id] is None:
                await self._wait(self.talk.asked.get(question.id, question), call_id, heard)
                heard.clear()
        finally:
            forget()
        answer = self.talk.questions[question.id]
        assert answer is not None
        if answer.expired and question.then == "pause":
            self.pausing, self.pause_why = True, "nobody answered in time"
        return answer

    async def _wait(self, question: Question, call_id: str, heard: asyncio.Event) -> None:
        """Until something is heard of it, or its time is over while nobody is about to answer."""
        expires = self.expires and question.expires_s > 0 and question.id not in self.talk.held
        left = max(0.0, question.expires_s - (now() - max(question.asked, self.began)) / SECOND) if expires else None
        try:
            async with asyncio.timeout(left):
                await heard.wait()
        except TimeoutError:
            if question.id in self.claimed:
                await heard.wait()
                return
            self.claimed.add(question.id)
            try:
                if self.reader.asked(question.id):
                    await self.record(QuestionAnswered(question.id, call_id, expired(question)))
            finally:
                self.claimed.discard(question.id)
