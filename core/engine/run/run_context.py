"""The context of a run: the state that the loop works with, the recording of events, and questions to the user."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from core.domain.clock import SECOND, now
from core.domain.events import (
    BackgroundCommandEnded,
    EventRecord,
    ExpectedReply,
    RunEnded,
    RunStarted,
    SandboxTested,
    SessionEvent,
    ToolCall,
)
from core.domain.permissions import PolicyDecision
from core.domain.problems import Problem
from core.domain.question import (
    Answer,
    Question,
    QuestionAnswered,
    QuestionAnswerStarted,
    QuestionAsked,
    expired_answer,
)
from core.domain.text import Attachment, Text
from core.domain.tiers import NO_TIERS, Tiers, choose_model
from core.engine.policy.untrusted import fallback_boundary, mark_and_redact
from core.engine.run.background_agents import BackgroundAgents
from core.engine.run.execute import ExecutedCall, execute_call, file_changed_event
from core.engine.run.required_calls import required_calls
from core.engine.run.task_reminder import asked_file, missing_file, task_reminder, user_task
from core.engine.services.hooks import (
    NO_OUTCOME,
    Hook,
    HookMoment,
    HookOutcome,
    context_messages,
    hook_outcome,
    load_hooks,
    run_hooks,
)
from core.engine.services.skills import SkillService
from core.engine.state.conversation import Conversation
from core.engine.state.live_updates import LiveUpdates
from core.engine.state.token_counts import tool_tokens
from core.engine.state.unresolved_calls import Resolution
from core.models.model import Model, ReplyOptions, Request, ToolSpec
from core.models.text_call_adapter import TextCallAdapter
from core.models.token_estimate import estimate_tokens
from core.models.written_call_reader import WrittenCallReader
from core.store.journal import Journal
from core.store.journal_update import JournalUpdate
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader
from core.tools.argument_check import argument_fault
from core.tools.background import CommandEnd
from core.tools.catalogue import tool_specs
from core.tools.check_agent import CheckAgentArguments
from core.tools.delegate import MAX_PARALLEL, DelegateArguments
from core.tools.mcp_tools import mcp_tool_specs
from core.tools.tool import Tool
from core.tools.tool_context import ToolContext

CLOCK_CHECK_S = 30.0

CallExecutor = Callable[[Tool, str, Any, ToolContext, dict[str, str]], Awaitable[ExecutedCall]]
Delegation = Callable[["RunContext", ToolCall, DelegateArguments], Awaitable[None]]
AgentCheck = Callable[["RunContext", ToolCall, CheckAgentArguments], Awaitable[None]]
QuestionAdmission = Callable[["RunContext", str, str], AbstractAsyncContextManager[bool]]
PolicyEvaluator = Callable[["RunContext", Tool, str, Any], Awaitable[PolicyDecision | None]]


@dataclass(frozen=True, slots=True)
class RequestPrefix:
    """The constant prefix of every request in a run: system prompt and tools, with their token counts.

    `built_from` holds the inputs it was built from, to detect when it is outdated: the RunStarted event, the enabled
    tools, and whether the context was compacted.
    """

    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tokens: Mapping[str, int] = field(default_factory=dict)
    built_from: tuple[object, ...] = (None, None, None)


@dataclass(slots=True)
class RunContext:
    """The state of one run. `conversation` is updated with every recorded event.

    Attributes:
        tool_context: the folder and everything else that tools may use; opened and closed with the run.
        evaluate: decides whether a call may execute; a replay returns the recorded decision.
        admit_question: says whether a question, by its ID and its call, may be asked within the limit. It is recorded
            in the context. A replay returns the recorded decision.
        trusted: whether the user trusts the folder.
        attended: whether a user is present to decide at a limit or after an error.
        read_digests: paths of files that the run has read, with digests of the contents. Other files cannot be edited.
        pause_requested: whether to pause before the next turn, with `pause_reason`.
        closing: whether the run is canceled because Journeyman is exiting, and not because the user stopped it.
        claimed: IDs of questions and permission requests that are being answered right now; shared by all runs.
        pending_hooks: one asyncio.Event for each question whose hooks are still running.
        has_time_limits: whether questions and the run itself have time limits; in a replay they do not.
        opened_at: when the context was created, in microseconds. Earlier time does not count against the time limit of
            a question, because Journeyman was closed.
        reading: the timeout around the reply that is being read. An urgent message makes it expire at once.
        prefix: the cached request prefix of the current start.
        models: returns a model by name.
        tiers: returns which models serve which tier.
        accepts_images: returns whether a model accepts images; None if that is unknown.
        compaction_enabled: whether to keep the context within its budget.
        compact_at: returns the limit of the context in tokens that the user has set, or 0.
        compaction_requested: whether the user requested a compaction, which happens before the next turn.
        futile_at: size of the context, in tokens, at which a compaction last failed to shrink it.
        needs_user: IDs of permission requests that neither the mode nor a rule decides.
        supports_tool_calls: returns whether a model supports tool calls, or None if unknown.
        note_prompt_speed: called with a model, the prompt tokens not in its cache, and the seconds to its first token.
        record_tool_support: remembers for later runs whether a model supports tool calls.
        delegate_slots: limits how many sub-agents work at the same time.
        delegate: executes a `delegate` call.
        check_agent: executes a `check_agent` call.
        agents: the sub-agents in the background.
        callers: the sessions above this one by ID, as far as their events were read.
        resolution: the user's decision on unresolved calls, which also applies to sub-agents that are resumed.
        hooks: the user's hooks; None until they are loaded.
        hook_stop: why a hook stops the run; "" if none does.
        hooked_until: sequence number of the last user message for which the hooks were run.
        ended_turns: number of turns after which the hooks for the end of a turn were run.
        recorded_hooks: returns what the hooks of a moment decided in the recording; only for a replay.
        skills: the skill library; None if the run uses no skills.
        proposals: the store for changes that the agent proposes; None if it cannot propose changes.
        execute: executes a tool call; a replay returns the recorded outcome.
        sleep: waits before a retry; a replay does not wait.
    """

    session: str
    tool_context: ToolContext
    model_name: str
    model: Model
    conversation: Conversation
    journal: Journal
    reader: Reader
    live_updates: LiveUpdates
    evaluate: PolicyEvaluator
    admit_question: QuestionAdmission
    trusted: bool = True
    attended: bool = False
    read_digests: dict[str, str] = field(default_factory=dict)
    pause_requested: bool = False
    closing: bool = False
    pause_reason: str = "paused by you"
    claimed: set[str] = field(default_factory=set)
    pending_hooks: list[asyncio.Event] = field(default_factory=list)
    has_time_limits: bool = True
    opened_at: int = field(default_factory=now)
    reading: asyncio.Timeout | None = None
    prefix: RequestPrefix = field(default_factory=RequestPrefix)
    models: Callable[[str], Model] | None = None
    tiers: Callable[[], Tiers] = lambda: NO_TIERS
    accepts_images: Callable[[str], bool | None] = lambda model: None
    compaction_enabled: bool = True
    compact_at: Callable[[], int] = lambda: 0
    compaction_requested: bool = False
    futile_at: int = 0
    needs_user: set[str] = field(default_factory=set)
    supports_tool_calls: Callable[[str], bool | None] = lambda _: None
    note_prompt_speed: Callable[[str, int, float], None] = lambda model, tokens, seconds: None
    record_tool_support: Callable[[str, bool], None] = lambda _name, _tools: None
    delegate_slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_PARALLEL))
    resolution: Resolution = ""
    delegate: Delegation | None = None
    check_agent: AgentCheck | None = None
    agents: BackgroundAgents = field(default_factory=BackgroundAgents)
    callers: dict[str, Conversation] = field(default_factory=dict)
    hooks: tuple[Hook, ...] | None = None
    hook_stop: str = ""
    hooked_until: int = 0
    ended_turns: int = 0
    recorded_hooks: Callable[[HookMoment, Mapping[str, object]], HookOutcome] = lambda _moment, _details: NO_OUTCOME
    skills: SkillService | None = None
    proposals: ProposalStore | None = None
    execute: CallExecutor = execute_call
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def is_replay(self) -> bool:
        """Whether this run replays a recorded session: calls return their recorded outcome and are not executed."""
        return self.execute is not execute_call

    @property
    def has_compact_prompt(self) -> bool:
        """Whether the model gets the compact prompt, and with it the help for small models."""
        return self.conversation.start is not None and self.conversation.start.prompt_size == "compact"

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the run may call. An empty tuple means all tools."""
        return self.conversation.start.tools if self.conversation.start else ()

    def model_of(self, name: str) -> Model:
        """Return the model with this name, wrapped in an adapter that recognizes text-based tool calls."""
        model = self.model if name == self.model_name or self.models is None else self.models(name)
        if self.is_replay:  # recorded replies contain their calls already
            return model
        if not self.uses_text_calls(name):
            return WrittenCallReader(model, argument_fault)
        return TextCallAdapter(model, self.boundary(), argument_fault)

    def uses_text_calls(self, name: str) -> bool:
        """Return whether this model makes text-based tool calls, in a format that the system prompt describes."""
        start = self.conversation.start
        return name in self.conversation.text_call_models or bool(start and start.text_calls)

    def prefix_tokens(self) -> dict[str, int]:
        """Return the tokens of the request prefix by category."""
        return dict(self.request_prefix().tokens)

    def request_prefix(self) -> RequestPrefix:
        """Return the request prefix. It is rebuilt when the start configuration or the tools to offer have changed."""
        conversation = self.conversation
        start = conversation.start
        compacted = bool(conversation.compactions or conversation.compacted_calls)
        inputs = (start, conversation.enabled_tools, compacted)
        if start and any(new is not old for new, old in zip(inputs, self.prefix.built_from, strict=True)):
            system = self.full_text(start.system_prompt)
            is_compact = start.prompt_size == "compact"
            own_tools = tool_specs(start.tools, conversation.enabled_tools, compacted=compacted, compact=is_compact)
            tools = (*own_tools, *self._mcp_tools(start))
            counts = {"system": estimate_tokens(system), "tools": tool_tokens(tools)}
            self.prefix = RequestPrefix(
                system=system,
                tools=tools,
                tokens={category: tokens for category, tokens in counts.items() if tokens},
                built_from=inputs,
            )
        return self.prefix

    def _mcp_tools(self, start: RunStarted) -> tuple[ToolSpec, ...]:
        """Return the specs of the MCP tools that the run may use, except those that are no longer available."""
        available = mcp_tool_specs(self.tool_context.servers.all()) if self.tool_context.servers else {}
        return tuple(spec for name, spec in available.items() if name in start.tools)

    def request(self) -> Request:
        """Build the request to send to the model now."""
        prefix = self.request_prefix()
        conversation = self.conversation
        files = self.tool_context.broker
        is_compact = self.has_compact_prompt
        reminder = task_reminder(conversation, files, self.full_text) if is_compact else []
        messages = [*conversation.messages, *reminder]
        expected = messages[-1].expected_reply if messages else None
        return Request(
            messages,
            script_position=conversation.attempts,
            purpose=self._purpose(),
            tools=prefix.tools,
            options=self.reply_options(),
            read_text=self.model_text,
            read_attachment=self.attachment_bytes,
            system_prompt=prefix.system,
            output_schema=self._enforced_schema(conversation.start, expected),
            required_calls=required_calls(expected, prefix.tools) if self.has_compact_prompt else (),
            asked_file=asked_file(expected, files) if self.has_compact_prompt else None,
            missing_file=missing_file(user_task(conversation, self.full_text), files)
            if self.has_compact_prompt
            else "",
        )

    def _purpose(self) -> str:
        """Return the purpose of requests: a review or the work of a sub-agent; "" for a turn of the main agent."""
        start = self.conversation.start
        if start and start.reviewed_session:
            return "review"
        return f"agent:{start.script_role}" if start and start.script_role else ""

    def boundary(self) -> str:
        """Return the random token in the tags around untrusted content, which that content therefore cannot close."""
        start = self.conversation.start
        return (start and start.boundary) or fallback_boundary(self.session)

    def _enforced_schema(self, start: RunStarted | None, expected: ExpectedReply | None) -> dict[str, Any] | None:
        """Return the JSON Schema that the provider should enforce, or None.

        The schema is enforced only after a reply was rejected, because constrained output would prevent tool calls.
        Providers do not accept the schemas `true` and `false`.
        """
        if start is None or not start.output_schema.head or expected is None or expected.kind != "schema":
            return None
        schema = json.loads(self.full_text(start.output_schema))
        return schema if isinstance(schema, dict) else None

    def interrupt_reply(self) -> None:
        """Interrupt the reply that is being read."""
        if self.reading:
            self.reading.reschedule(asyncio.get_running_loop().time())

    def seal_reply(self) -> None:
        """Remove the timeout around a reply that is complete, so that the reply can no longer be interrupted.

        Otherwise an interruption could come while the reply is being recorded, and its calls would be handled only
        after the next request.
        """
        if self.reading:
            self.reading.reschedule(None)
            self.reading = None

    def apply_changed_model(self) -> None:
        """Switch to the model that the user has chosen since the last request."""
        start = self.conversation.start
        if self.models and start and start.model != self.model_name:
            self.model = self.models(choose_model(self.tiers(), start.model, ()).model)
            self.model_name = start.model

    def reply_options(self) -> ReplyOptions:
        """Return the user's options for replies, such as effort and temperature. Options that are None are not sent.

        With the compact prompt, a reply may take a quarter of the context window, unless the user has set a limit: a
        small model may never end its reply, and its server would then serve nobody else.
        """
        start = self.conversation.start
        if start is None:
            return ReplyOptions()
        limit = start.max_output_tokens or (self.model.window // 4 if self.has_compact_prompt else 0)
        return ReplyOptions(start.effort or None, limit or None, start.temperature)

    def attachment_bytes(self, attachment: Attachment) -> bytes:
        """Return the contents of an attachment."""
        return self.reader.blob(attachment.blob)

    async def record(self, *events: SessionEvent, blobs: dict[str, bytes] | None = None) -> EventRecord:
        """Record events durably. They have been applied to the conversation when this returns."""
        return await (await self.journal.append_staged(self.session, *events, blobs=blobs))

    async def sandbox_events(self, tool: Tool) -> tuple[SessionEvent, ...]:
        """Return the event with the sandbox level if the tool runs commands and the run has not recorded it."""
        lazy_sandbox = self.tool_context.lazy_sandbox
        if tool.access != "execute" or lazy_sandbox.recorded or self.is_replay:  # A replay executes no commands.
            return ()
        sandbox = await self.tool_context.proven_sandbox()
        lazy_sandbox.recorded = True
        proof = sandbox.proof
        escapes = proof.escapes if proof else ()
        known_gaps = proof.known_gaps if proof else ()
        return (SandboxTested(sandbox.name, sandbox.level, escapes, known_gaps),)

    async def command_ended(self, ended: CommandEnd) -> None:
        """Record the files that a background command has changed, and its end if it has ended (`ended.done`)."""
        blobs: dict[str, bytes] = {}
        events: list[SessionEvent] = [file_changed_event(ended.call, change, blobs) for change in ended.changes]
        if result := ended.done:
            events.append(
                BackgroundCommandEnded(
                    call_id=ended.call,
                    command=ended.command,
                    output=Text(result.output),
                    exit_code=result.exit_code,
                    reason=result.killed_because,
                    unrestorable=ended.unrestorable,
                    changed_history=ended.changed_history,
                )
            )
        await self.record(*events, blobs=blobs)

    def full_text(self, text: Text) -> str:
        """Return a text in full, from its blob if it is not stored inline."""
        return self.reader.read_text(text)

    def model_text(self, text: Text) -> str:
        """Return a text as sent to the model: untrusted content is marked as data, with secrets redacted."""
        source = self.conversation.permissions.sources.get(text)
        content = self.full_text(text)
        return content if source is None else mark_and_redact(content, source, self.boundary())

    def last_reply_text(self) -> str:
        """Return the text of the last reply, or "" if there is none."""
        messages = reversed(self.conversation.messages)
        return next((message.text.head for message in messages if message.role == "assistant"), "")

    async def run_hooks(self, moment: HookMoment, tool: str = "", **details: object) -> HookOutcome:
        """Run the user's hooks for this moment and tool; record their outcomes and the context that they add.

        `details` are passed to the hooks as JSON. A replay runs no hooks and returns their recorded outcome.
        """
        if self.is_replay:
            return self.recorded_hooks(moment, details)
        if not (hooks := self._load_hooks()):
            return NO_OUTCOME
        payload = {"session": self.session, "run": self.conversation.run, "model": self.model_name, **details}
        ran = await run_hooks(hooks, moment, tool, self.tool_context.folder, payload)
        outcome = hook_outcome(ran)
        if ran:
            await self.record(*ran, *context_messages(outcome))
        self.hook_stop = self.hook_stop or outcome.stop
        return outcome

    def _load_hooks(self) -> tuple[Hook, ...]:
        if self.hooks is None:
            self.hooks = () if self.tool_context.safe_mode else load_hooks(self.tool_context.data)
        return self.hooks

    async def run_end_hooks(self, last: SessionEvent) -> None:
        """Run the user's hooks for the end of the run."""
        try:
            self._load_hooks()
        except Problem:  # reported when the run started
            self.hooks = ()
        if isinstance(last, RunEnded):
            await self.run_hooks("run_end", status=last.status, reason=last.reason)

    async def announce(self, event: SessionEvent, name: str, text: str, tool: str = "") -> None:
        """Record a question or permission request, then run the user's hooks for it."""
        self.pending_hooks.append(finished := asyncio.Event())
        try:
            await self.record(event)
            await self.run_hooks("question", tool, question={"id": name, "text": text})
        finally:
            self.pending_hooks.remove(finished)
            finished.set()

    async def hooks_finished(self) -> None:
        """Wait until the hooks of all questions have finished."""
        for finished in tuple(self.pending_hooks):
            await finished.wait()

    async def ask(self, question: Question, call_id: str = "") -> Answer:
        """Record the question unless it is open already, and wait until its answer is in the event log.

        `AnswerRecorder` writes the user's answer, possibly from another process. If nobody answers in time, the
        question's timeout policy applies.
        """
        updated = asyncio.Event()

        def on_update(update: JournalUpdate) -> None:
            event = update.entry.event
            if isinstance(event, QuestionAnswered | QuestionAnswerStarted) and event.question_id == question.id:
                updated.set()

        forget = self.journal.listen(on_update)
        try:
            if question.id not in self.conversation.questions:
                await self.announce(QuestionAsked(question, call_id), question.id, question.text)
            while self.conversation.questions[question.id] is None:
                await self._await_answer(self.conversation.agent_questions.get(question.id, question), call_id, updated)
                updated.clear()
        finally:
            forget()
        answer = self.conversation.questions[question.id]
        assert answer is not None
        if answer.expired and question.on_unanswered == "pause":
            self.pause_requested = True
            self.pause_reason = "nobody answered in time"
        return answer

    async def _await_answer(self, question: Question, call_id: str, updated: asyncio.Event) -> None:
        """Wait until `updated` is set, because the user answers or begins to, or until the question expires.

        If the question expires, record its default answer. May return early; the caller checks for the answer.
        """
        remaining_s = self._seconds_to_answer(question)
        try:
            # The event loop's clock may stop while the computer sleeps, so compare with the time of day repeatedly.
            async with asyncio.timeout(None if remaining_s is None else min(remaining_s, CLOCK_CHECK_S)):
                await updated.wait()
        except TimeoutError:
            if remaining_s is not None and remaining_s > CLOCK_CHECK_S:
                return  # The caller calls this again with the time that remains.
            if question.id in self.claimed:
                await updated.wait()
                return
            self.claimed.add(question.id)
            try:
                if self.reader.question_origin(question.id):
                    await self.record(QuestionAnswered(question.id, call_id, expired_answer(question)))
            finally:
                self.claimed.discard(question.id)

    def _seconds_to_answer(self, question: Question) -> float | None:
        """Return how long the user can still answer; None without a time limit or once the user has begun to."""
        has_limit = self.has_time_limits and question.timeout_s > 0
        if not has_limit or question.id in self.conversation.being_answered:
            return None
        passed_s = (now() - max(question.asked_at, self.opened_at)) / SECOND
        return max(0.0, question.timeout_s - passed_s)
