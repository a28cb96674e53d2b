"""The state of a session, derived from its events: the messages for the model and the unfinished work of the run."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from core.domain.clock import SECOND, elapsed
from core.domain.events import (
    READ_AHEAD,
    CallRefused,
    CallStarted,
    ContextCompacted,
    EventRecord,
    HarnessMessage,
    LimitRaised,
    LimitThresholdReached,
    ModelChanged,
    QueueChanged,
    Replied,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SessionForked,
    SubagentEnded,
    SubagentStarted,
    TextCallsEnabled,
    ToolCall,
    ToolReturned,
    UserMessage,
)
from core.domain.messages import Message, result_position
from core.domain.permissions import CallAllowed, ModeChanged, PermissionDecided, PermissionRequested
from core.domain.problems import Problem
from core.domain.provenance import ContentSource
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAnswerStarted, QuestionAsked, answer_text
from core.domain.recall_events import MemoriesRecalled
from core.domain.rewind_events import FilesRewound
from core.domain.session_metadata import SessionMetadataEvent
from core.domain.skill import SkillUsed
from core.domain.text import Attachment, Text
from core.engine.policy.untrusted import result_source
from core.engine.state.compaction import (
    HARNESS,
    MEMORY,
    REPLIES,
    SESSION,
    SKILLS,
    USER,
    apply_compaction,
    retire_attachments,
)
from core.engine.state.limits import LIMIT_FIELDS
from core.engine.state.permission_state import PermissionState
from core.engine.state.repeats import RepeatCounter
from core.engine.state.token_counts import LastRequest, TokenCounts, used_tokens
from core.models.attachments import recall_key
from core.models.code_block import NOTE as CODE_BLOCK_NOTE
from core.models.token_estimate import updated_ratio
from core.timeline.context_item import RESULTS_PREFIX
from core.tools.more_tools import MORE_TOOLS_NAME, enabled_tools
from core.tools.tool import NOTHING_CHANGED

# Stored in ContextCompacted as the reason of a compaction after the provider rejected a request as too long.
TOO_LONG_REASON = "its server found it too long"
# The time before such an event was spent waiting for the user, so it does not count against the time limit.
USER_TIME_EVENTS = (QuestionAnswered, PermissionDecided, ModeChanged, RunResumed, RunStarted, RunInterrupted)
NOT_RUN = Text("[This call was not run: the run ended before it.]")
NO_OUTPUT = Text("(no output)")
MAX_GAP = 25 * 60 * 60 * SECOND  # longest time between two events that counts as working time: a command may take a day


@dataclass(slots=True)
class Conversation:
    """The messages so far, and the unfinished work of the current run. Updated only by `apply`.

    Attributes:
        messages: the messages that were sent to the model, its replies, and the results of its calls.
        pending: calls of the last reply that have no result yet, in order, by ID.
        started: pending calls that have started and may have had an effect: call ID → what the call acts on.
        held: started calls of an external agent that wait for permission, so that they have had no effect yet.
        queued: messages that the next request will include.
        removed: messages that the user removed from the queue, by sequence number.
        questions: questions of this run by ID, with their answers, or None while open.
        agent_questions: the questions that the agent itself asked, by ID.
        being_answered: IDs of the open questions that the user has begun to answer.
        permissions: the state that permission decisions depend on.
        spent: how much of each limit this run has used, by limit name.
        allowed: the limits of this run, by limit name.
        warned: names of the limits for which a warning was recorded.
        repeats: counts identical results in a row.
        last_at: the time of the last event, in microseconds.
        last_seq: the sequence number of the last event.
        turns: number of replies in this run.
        attempts: number of requests in this run, including failed ones.
        done: whether the last reply contained no calls.
        stop_reason: why the last reply ended, as in `core/models/stop_reasons.py`.
        total_turns: number of replies in all runs.
        start: the configuration of the current run.
        run: the number of the current run.
        task: sequence numbers of the messages that the current run began with.
        call_failed: whether a call of the last reply failed.
        last_refused: the call that was refused last, by its ID.
        skills_used: the skills that were loaded, by call ID. No compaction removes them.
        compacted_calls: calls whose full results are not sent: call ID → sequence number of the result.
        truncated_calls: calls whose results a compaction has cut to their beginning.
        retired_attachments: attachments that a compaction has removed, by the id under which they can be recalled.
        compactions: number of compactions.
        first_compacted: sequence number of the first event that the summary replaces.
        last_compacted: sequence number of the last event that the summary replaces.
        token_ratios: actual tokens divided by estimated tokens, by model.
        last_request: the last request to a model.
        too_long_at: size in tokens of a request that the provider rejected as too long, or 0.
        text_call_models: models that use text-based tool calls.
        written_replies: the number of replies in which a model wrote its calls into the text, by model. Models that
            also made a call natively are not included.
        recalled: IDs of memories that were added to the context.
        enabled_tools: the tools that the model has enabled with `more_tools`.
        recalled_until: sequence number of the last user message for which memories were looked up.
        token_counts: estimated sizes of the messages. They are computed lazily and excluded from comparisons.
        children: IDs of the sessions of sub-agents, by the ID of the call that started them.
        background: the calls that started sub-agents in the background that have not ended, by ID.
    """

    messages: list[Message] = field(default_factory=list)
    pending: dict[str, ToolCall] = field(default_factory=dict)
    started: dict[str, str] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    queued: list[Message] = field(default_factory=list)
    removed: dict[int, Message] = field(default_factory=dict)
    questions: dict[str, Answer | None] = field(default_factory=dict)
    agent_questions: dict[str, Question] = field(default_factory=dict)
    being_answered: set[str] = field(default_factory=set)
    permissions: PermissionState = field(default_factory=PermissionState)
    spent: dict[str, float] = field(default_factory=dict)
    allowed: dict[str, float] = field(default_factory=dict)
    warned: set[str] = field(default_factory=set)
    repeats: RepeatCounter = field(default_factory=RepeatCounter)
    last_at: int = 0
    last_seq: int = 0
    turns: int = 0
    attempts: int = 0
    done: bool = False
    stop_reason: str = ""
    total_turns: int = 0
    start: RunStarted | None = None
    children: dict[str, str] = field(default_factory=dict)
    background: dict[str, ToolCall] = field(default_factory=dict)
    run: int = 0
    task: tuple[int, ...] = ()
    call_failed: bool = False
    last_refused: str = ""
    compacted_calls: dict[str, int] = field(default_factory=dict)
    truncated_calls: set[str] = field(default_factory=set)
    retired_attachments: dict[str, Attachment] = field(default_factory=dict)
    skills_used: dict[str, SkillUsed] = field(default_factory=dict)
    compactions: int = 0
    first_compacted: int = 0
    last_compacted: int = 0
    token_ratios: dict[str, float] = field(default_factory=dict)
    last_request: LastRequest = LastRequest()
    too_long_at: int = 0
    text_call_models: set[str] = field(default_factory=set)
    written_replies: dict[str, int] = field(default_factory=dict)
    native_callers: set[str] = field(default_factory=set)
    recalled: set[str] = field(default_factory=set)
    recalled_until: int = 0
    enabled_tools: frozenset[str] = frozenset()
    token_counts: TokenCounts = field(default_factory=TokenCounts, compare=False)

    def apply(self, entry: EventRecord) -> None:
        """Apply one event. Ignore events that were applied already."""
        if entry.seq <= self.last_seq:
            return
        self.last_seq = entry.seq
        if isinstance(entry.event, SessionMetadataEvent):
            return  # Session metadata affects neither the messages nor the time used.
        self._count_usage(entry)
        self.run = entry.run
        self.permissions.apply(entry.event)
        match entry.event:
            case RunStarted() | ModelChanged():
                self._apply_start(entry.event)
            case UserMessage() | HarnessMessage() | FilesRewound() | MemoriesRecalled():
                self._queue(entry.event)
            case QueueChanged():
                self._reorder_queue(entry.event)
            case RequestSent(purpose="", model=model, tokens=tokens):
                self.messages += self.queued
                self.queued.clear()
                self.last_request = LastRequest(model, sum(tokens.values()) / self.token_ratio(model))
            case ContextCompacted():
                self._compact(entry.event)
            case TextCallsEnabled(model=model):
                self.text_call_models.add(model)
            case Replied():
                self._reply(entry.event)
            case RequestRetried():
                self.attempts += 1
            case CallStarted() | PermissionRequested() | CallAllowed():
                self._note_start(entry.event)
            case ToolReturned(call_id=name, output=output, failed=failed, attachments=attached, excerpt=excerpt):
                self._enable_tools(name, failed)
                futile = failed or output.head.endswith(NOTHING_CHANGED)
                outcome = str(entry.event.exit_code) if futile else output.blob or output.head
                self.repeats.add_result(name, outcome, futile)
                sent = excerpt if excerpt.head else output
                if excerpt.head:
                    self.compacted_calls[name] = entry.seq
                self.permissions.add_result(name, sent, self._source_of(name))
                self._add_result(name, sent, failed, attached)
            case CallRefused(call_id=name, reason=reason):
                self.last_refused = name
                self.repeats.add_result(name, reason.head, True)
                self._add_result(name, reason, failed=True)
            case SkillUsed() | SubagentStarted():
                self._link_call(entry.event)
            case QuestionAsked() | QuestionAnswerStarted() | QuestionAnswered():
                self._note_question(entry.event, entry.at)
            case LimitThresholdReached() | LimitRaised() | ModeChanged():
                self._apply_terms(entry.event)
            case RunEnded():
                self._end_run()
            case SessionForked(imported=True):  # all earlier messages come from another program
                self.permissions.untrusted_texts |= {message.text: None for message in (*self.messages, *self.queued)}
            case _:
                pass

    def _note_start(self, event: CallStarted | PermissionRequested | CallAllowed) -> None:
        if isinstance(event, CallStarted):
            self.started[event.call_id] = event.object
        elif isinstance(event, CallAllowed):
            self.held.discard(event.call_id)
        elif event.request.call_id in self.started:
            self.held.add(event.request.call_id)

    def _note_question(self, event: QuestionAsked | QuestionAnswerStarted | QuestionAnswered, at: int) -> None:
        match event:
            case QuestionAsked(question=question, call_id=call):
                self.questions[question.id] = None
                if call:
                    self.agent_questions[question.id] = replace(question, asked_at=at)
            case QuestionAnswerStarted(question_id=name):
                self.being_answered.add(name)
            case QuestionAnswered(question_id=name, call_id=call, answer=answer):
                self.questions[name] = answer
                self._add_result(call, Text(answer_text(answer)))

    def _end_run(self) -> None:
        for name in tuple(self.pending):
            self._add_result(name, NOT_RUN, failed=True)
        self.background.clear()
        self.done = True

    def unresolved_calls(self) -> dict[str, str]:
        """Return the calls that started but have no result: id → display text.

        A call that started a sub-agent is not included, because the sub-agent's own session records the outcome.
        """
        uncertain = self.started.keys() - self.children.keys() - self.held
        return {call: self.started[call] for call in self.pending if call in uncertain}

    @property
    def open_questions(self) -> list[str]:
        """The ids of the open questions."""
        return [name for name, answer in self.questions.items() if answer is None]

    @property
    def task_seq(self) -> int:
        """The sequence number of the last message that the current run began with; 0 without one."""
        return max(self.task, default=0)

    @property
    def has_new_input(self) -> bool:
        """Whether a queued message calls for another reply. Recalled memories and the session context do not."""
        return any(message.category not in (MEMORY, SESSION) for message in self.queued)

    def token_ratio(self, model: str) -> float:
        """Return actual tokens divided by estimated tokens for a model, learned from the usage its provider reports."""
        return self.token_ratios.get(model, 1.0)

    def _link_call(self, event: SkillUsed | SubagentStarted) -> None:
        if isinstance(event, SkillUsed):
            self.skills_used[event.call_id] = event
        else:
            self.children[event.call_id] = event.child_session
            if event.background and event.call_id in self.pending:
                self.background[event.call_id] = self.pending[event.call_id]

    def _learn_ratio(self, counted: int) -> None:
        model, estimated = self.last_request
        if counted and estimated:
            self.token_ratios[model] = updated_ratio(self.token_ratio(model), round(estimated), counted)

    def _reply(self, reply: Replied) -> None:
        self.messages.append(
            Message(
                role="assistant",
                text=reply.text,
                calls=reply.calls,
                reasoning=reply.reasoning,
                provider_state=reply.provider_state,
                seq=self.last_seq,
                category=REPLIES,
            )
        )
        self._learn_ratio(reply.usage.input)
        if reply.stop_reason != READ_AHEAD:
            self._note_call_form(reply)
        self.call_failed = False
        self.repeats.start_turn()
        for call in reply.calls:
            self.pending[call.id] = call  # An external agent may start calls while earlier calls are pending.
            self.repeats.add_call(call.id, call.tool, call.arguments.blob or call.arguments.head)
        self.turns += 1
        self.total_turns += 1
        self.attempts += 1
        self.done = not reply.calls
        self.stop_reason = reply.stop_reason

    def _note_call_form(self, reply: Replied) -> None:
        """Count the replies with text-based tool calls, for models that never made a native call."""
        model = self.last_request.model
        if CODE_BLOCK_NOTE in reply.note:  # The harness had asked for a code block, so this tells nothing about calls.
            return
        if reply.calls and not reply.written.head:
            self.native_callers.add(model)
            self.written_replies.pop(model, None)
        elif reply.written.head and model not in self.native_callers and model not in self.text_call_models:
            self.written_replies[model] = self.written_replies.get(model, 0) + 1

    def _queue(self, event: UserMessage | HarnessMessage | FilesRewound | MemoriesRecalled) -> None:
        """Queue a message for the next request."""
        match event:
            case UserMessage(text=text, attachments=attachments):
                self.queued.append(Message("user", text, attachments=attachments, seq=self.last_seq, category=USER))
            case HarnessMessage(text=text, expected_reply=expected):
                self.queued.append(Message("user", text, seq=self.last_seq, category=HARNESS, expected_reply=expected))
            case MemoriesRecalled():
                self._queue_memories(event)
            case FilesRewound(files=files):
                if files:
                    paths = ", ".join(file.path for file in files)
                    note = Text(f"[The user reverted these files to an earlier state: {paths}.]")
                    self.queued.append(Message("user", note, seq=self.last_seq, category=HARNESS))

    def _queue_memories(self, recalled: MemoriesRecalled) -> None:
        """Queue recalled memories before the user message that they were looked up for."""
        self.recalled_until = recalled.message_seq
        self.recalled.update(item.memory_id for item in recalled.memories)
        categories = [message.category for message in self.queued]
        index = categories.index(USER) if USER in categories else len(categories)
        self.queued.insert(index, Message("user", recalled.text, seq=self.last_seq, category=MEMORY))

    def _reorder_queue(self, change: QueueChanged) -> None:
        """Apply the user's change of the queue: an edited message, another order, or removed or restored messages.

        Removed messages are kept in `removed`. Messages that were sent in the meantime are not affected.
        """
        messages = self.removed | {message.seq: message for message in self.queued if message.category == USER}
        if change.action == "edited" and change.target_seq in messages:
            messages[change.target_seq] = replace(messages[change.target_seq], text=change.text)
        notes = [message for message in self.queued if message.category != USER]
        self.queued = notes + [messages.pop(seq) for seq in dict.fromkeys(change.order) if seq in messages]
        self.removed = messages

    def _compact(self, event: ContextCompacted) -> None:
        """Replace messages with their compacted form, and note where the full results can be read."""
        before = self.messages
        for attachment in (item for message in (*before, *self.queued) for item in message.attachments):
            if attachment.blob in event.retired_attachments:
                self.retired_attachments[recall_key(attachment)] = attachment
        self.messages, origins = apply_compaction(before, self.last_seq, event)
        self.queued = [retire_attachments(message, event.retired_attachments) for message in self.queued]
        self.token_counts.queued.clear()
        self.truncated_calls.update(event.truncated_calls)
        unchanged = set(origins)
        for index, message in enumerate(before):
            if index not in unchanged and message.role == "tool":
                self.compacted_calls.setdefault(message.call_id, message.seq)
        self.token_counts.update_after_compaction(self.messages, origins)
        self.compactions += 1
        if event.until_seq:
            self.first_compacted = self.first_compacted or event.first_seq
            self.last_compacted = max(self.last_compacted, event.until_seq)
        if event.reason == TOO_LONG_REASON:
            self.too_long_at = event.tokens_before

    def _apply_start(self, start: RunStarted | ModelChanged) -> None:
        if isinstance(start, ModelChanged):
            self.start = with_changed_model(self.start, start) if self.start else None
            return
        self._queue_session_context(start)
        self.start = start
        self.task = tuple(message.seq for message in self.queued) or self.task
        self.call_failed = False
        self.turns = self.attempts = 0
        self.done = False
        self.questions = {}
        self.agent_questions = {}
        self.being_answered = set()
        self.spent = {}
        self.warned = set()
        self.repeats = RepeatCounter()
        self.allowed = {limit: float(getattr(start, name)) for limit, name in LIMIT_FIELDS.items()}

    def _queue_session_context(self, start: RunStarted) -> None:
        """Queue the session context before the user's message, unless the model has it from an earlier run."""
        context = start.session_context
        if context.head and (self.start is None or context != self.start.session_context):
            self.queued.insert(0, Message("user", context, seq=self.last_seq, category=SESSION))

    def _count_usage(self, entry: EventRecord) -> None:
        """Update `spent`. Time spent waiting for the user, or while Journeyman was closed, does not count.

        A gap that is longer than any call may take does not count either: the clock was set meanwhile.
        """
        event = entry.event
        if not isinstance(event, USER_TIME_EVENTS):
            passed = elapsed(self.last_at, entry.at, MAX_GAP) / (60 * SECOND)
            # Time that a sub-agent spent waiting for the user does not count either.
            spent = min(passed, event.minutes) if isinstance(event, SubagentEnded) else passed
            self.spent["minutes"] = self.spent.get("minutes", 0.0) + spent
        if isinstance(event, SubagentEnded):
            self.background.pop(event.call_id, None)
            for limit, used in (("tokens", event.tokens), ("cost", event.cost)):
                self.spent[limit] = self.spent.get(limit, 0.0) + used
        self.last_at = entry.at
        if isinstance(event, Replied):
            self.spent["turns"] = self.spent.get("turns", 0.0) + 1
        if isinstance(event, Replied | ContextCompacted):
            self.spent["cost"] = self.spent.get("cost", 0.0) + (event.cost or 0.0)
            self.spent["tokens"] = self.spent.get("tokens", 0.0) + used_tokens(event, self.last_request.tokens)

    def _enable_tools(self, call: str, failed: bool) -> None:
        """If the call is a successful `more_tools` call, offer the tools that it names from the next request on."""
        if not failed and call in self.pending and self.pending[call].tool == MORE_TOOLS_NAME:
            self.enabled_tools |= enabled_tools(self.pending[call].arguments.head)

    def _source_of(self, call: str) -> ContentSource | None:
        """Return the untrusted source of a call's result, if it has one."""
        if call not in self.pending or call not in self.started:
            return None
        return result_source(self.pending[call].tool, self.started[call])

    def _apply_terms(self, event: LimitThresholdReached | LimitRaised | ModeChanged) -> None:
        """Apply a limit warning, a raised limit, or a change of the permission mode (also for later runs)."""
        if isinstance(event, ModeChanged):
            self.start = replace(self.start, mode=event.mode) if self.start else None
        elif isinstance(event, LimitRaised):
            self.allowed[event.limit] = event.allowed
            self.warned.discard(event.limit)
        else:
            self.warned.add(event.limit)

    def _add_result(self, call: str, output: Text, failed: bool = False, attached: tuple[Attachment, ...] = ()) -> None:
        """Add the result of a pending call to the messages. An empty one is put into words for small models."""
        if tool_call := self.pending.pop(call, None):
            output = output if output.head.strip() or attached else NO_OUTPUT
            loads_skill = call in self.skills_used and not self.skills_used[call].file
            category = SKILLS if loads_skill else f"{RESULTS_PREFIX}{tool_call.tool}"
            message = Message(
                "tool", output, call_id=call, failed=failed, attachments=attached, seq=self.last_seq, category=category
            )
            index = result_position(call, self.messages)
            self.messages.insert(index, message)
            self.token_counts.insert(index, message)
            self.call_failed = self.call_failed or failed
        self.started.pop(call, None)
        self.held.discard(call)


def with_changed_model(start: RunStarted, chosen: ModelChanged) -> RunStarted:
    """Return the start configuration with another model and its options."""
    return replace(
        start,
        model=chosen.model,
        effort=chosen.effort,
        max_output_tokens=chosen.max_output_tokens,
        temperature=chosen.temperature,
    )


def fold_events(entries: Iterable[EventRecord]) -> Conversation:
    """Fold all events into a conversation."""
    conversation = Conversation()
    for entry in entries:
        conversation.apply(entry)
    return conversation


def next_run_start(conversation: Conversation) -> RunStarted:
    """Return the start configuration for the next run of a session.

    This is the configuration of the last run, without its `--allow`, `--no-questions` and prompt size.
    """
    if conversation.start is None:
        raise Problem("This session has no run.", "", "Start one with a message.")
    return replace(conversation.start, allow=(), prompt_size="", no_questions=False)
