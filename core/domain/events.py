"""The events of a session: immutable values that the journal stores and everything else is derived from.

This is a stored, public format. Kinds and field names never change and are never reused; a new field has a default,
because the codec omits fields that equal their default. Unless stated otherwise, `reason` is a sentence for the user, a
field ending in `_seq` is the number of another event of the same session, costs are US dollars (None: price unknown),
sizes are characters, and times are microseconds since 1970 UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.domain.decision_option import DecisionOption
from core.domain.event_values import ExpectedReply as ExpectedReply
from core.domain.event_values import InstructionFile as InstructionFile
from core.domain.event_values import ToolCall as ToolCall
from core.domain.event_values import Usage as Usage
from core.domain.external_agents import ExternalAgentSettingChanged, ExternalAgentStarted
from core.domain.import_events import TranscriptImported, UnrecognizedRecordsKept
from core.domain.modes import DEFAULT_MODE, Mode
from core.domain.permissions import CallAllowed, ModeChanged, PermissionDecided, PermissionRequested, SandboxLevel
from core.domain.problems import ErrorDetails
from core.domain.proposal import ProposalCreated, ProposalStateChanged
from core.domain.question import Autonomy, QuestionAnswered, QuestionAnswerStarted, QuestionAsked, UnansweredPolicy
from core.domain.recall_events import MemoriesRecalled, MemoryOperationFailed
from core.domain.rewind_events import FilesRewound
from core.domain.schedule import ScheduleTriggered
from core.domain.session_metadata import SessionArchived, SessionPinned, SessionRenamed, SessionTrashed
from core.domain.skill import OfferedSkill, SkillUsed
from core.domain.subagent_events import SubagentEnded as SubagentEnded
from core.domain.subagent_events import SubagentStarted as SubagentStarted
from core.domain.text import Attachment, Text
from core.domain.worktree import WorktreeCreated


@dataclass(frozen=True, slots=True)
class SessionCreated:
    """The session was created. Always the first event of a session.

    `folder` is the absolute path the agent works in. In the session of a sub-agent, `parent` and `parent_call` are the
    session and the tool call that started it, `subagent` is its name, and `depth` its nesting level (0: not a
    sub-agent). `imported_from` is set in imported sessions, which are read-only: the program that recorded the session
    and the session id there, as in `Claude Code:7f…`.
    """

    session_id: str
    folder: str
    title: str
    parent: str = ""
    parent_call: str = ""
    subagent: str = ""
    depth: int = 0
    imported_from: str = ""


@dataclass(frozen=True, slots=True)
class SessionForked:
    """The events before this one were copied from another session; the events after it are this session's own.

    `forked_from` is the other session, `imported` whether it was imported, and `until_seq` the last event copied.
    `reason` is `fork` (by the user), `edit` (to send an edited message) or `rerun` (of a run, also with another model).
    """

    forked_from: str
    until_seq: int
    reason: Literal["fork", "edit", "rerun"] = "fork"
    imported: bool = False


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began. The fields are all parameters that determine how it proceeds.

    Attributes:
        model: `PROVIDER/MODEL`, a tier name, `auto`, `scripted` or `agent/NAME` for an external agent.
        max_turns, max_minutes, max_tokens, max_cost: limits of the run; 0 means unlimited.
        interactive: the run pauses, for the user to decide, at a limit or a failed request; otherwise it ends there.
        profile: the agent profile; empty for the default.
        system_prompt: sent with every request; all sessions with the same settings share it, so that it is cached.
        prompt_size: `full`, or `compact` for a short system prompt and few tools; empty before the run is prepared.
        session_context: what differs between sessions, sent before the first user message: the folder, the date, the
            skills and the project instructions. It is part of the system prompt in runs recorded before it existed.
        tools: names of the tools the model may call; empty means all.
        instruction_files: the project instruction files found in the folder.
        boundary: a random token that delimits untrusted content in the prompts of a session and cannot be forged.
        script, script_role: the script of the scripted model, and the role that a sub-agent has in it.
        output_schema: JSON Schema that the final reply must match; empty for free text.
        mode: the permission mode.
        allow: tool calls approved in advance for this run, as `TOOL` or `TOOL:PATTERN`.
        untrusted_sources: untrusted content that the author of the task, such as a parent run, had already read.
        autonomy: how many questions the agent and its sub-agents may ask together.
        on_unanswered, answer_timeout_minutes: what happens to a question not answered in that time; 0: no timeout.
        no_questions: the command line declines questions and denies permission requests, also when the run is resumed.
            The window still asks them.
        text_calls: the model has no native tool calling, so text-based tool calls are used.
        effort, max_output_tokens, temperature: sent to the provider only if set.
        skills: the skills listed in the session context.
        reviewed_session: the session that this run reviews, if it is a review.
        acceptance: commands of the user that must succeed before the run counts as done.
        sealed, sealed_digests: patterns of the files that the run has to leave as they are, and the digests of these
            files when it started, as a JSON object by path.
        agent_command: the command line of an external agent that the user entered instead of the name of one.
        excluded: ids of memories and names of skills withheld from this run, to compare it with a run that had them.
    """

    model: str
    max_turns: int = 0
    script: Text = Text()
    max_minutes: float = 0.0
    max_tokens: int = 0
    max_cost: float = 0.0
    interactive: bool = False
    profile: str = ""
    system_prompt: Text = Text()
    tools: tuple[str, ...] = ()
    instruction_files: tuple[InstructionFile, ...] = ()
    boundary: str = ""
    script_role: str = ""
    output_schema: Text = Text()
    mode: Mode = DEFAULT_MODE
    allow: tuple[str, ...] = ()
    untrusted_sources: tuple[str, ...] = ()
    autonomy: Autonomy = "balanced"
    on_unanswered: UnansweredPolicy = "wait"
    answer_timeout_minutes: float = 0.0
    text_calls: bool = False
    effort: str = ""
    max_output_tokens: int = 0
    temperature: float | None = None
    skills: tuple[OfferedSkill, ...] = ()
    reviewed_session: str = ""
    excluded: tuple[str, ...] = ()
    session_context: Text = Text()
    prompt_size: Literal["", "full", "compact"] = ""
    acceptance: tuple[str, ...] = ()
    agent_command: str = ""
    no_questions: bool = False
    sealed: tuple[str, ...] = ()
    sealed_digests: Text = Text()


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """The user selected another model or other parameters, from the next request on; unset values are not sent."""

    model: str
    effort: str = ""
    max_output_tokens: int = 0
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class TextCallsEnabled:
    """From the next request on, `model` uses text-based tool calls because it has no native tool calling.

    `reason` says how that is known.
    """

    model: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """The user sent a message. If a run is in progress, the message is queued until the next request.

    `typed` is the number of characters that the user typed, if others wrote the rest of the message or a file with it:
    an MCP server or the files that an editor inserted.
    """

    text: Text
    attachments: tuple[Attachment, ...] = ()
    typed: int | None = None


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """The user changed the queue of messages that wait for the next request.

    `action` was applied to the message written as event `target_seq`, and `text` is that message's current text.
    `order` lists the events of all messages still queued, in sending order. A message absent from it is no longer sent,
    unless a later event lists it again.
    """

    action: Literal["edited", "moved", "removed", "restored"]
    target_seq: int
    order: tuple[int, ...] = ()
    text: Text = Text()


@dataclass(frozen=True, slots=True)
class RequestSent:
    """A request is about to be sent to the model. Written durably before the request leaves.

    `turn` counts the model replies of the run from 1. `tier` and `reason` say why this model was selected. `tokens`
    estimates the prompt by category (see `core.timeline.context_item`; `results:read` is the output of the tool `read`)
    and `context_window` is the model's limit; both are in tokens, and 0 is unknown. `purpose` is empty for a turn of
    the conversation, `summary` for a compaction, and `external_agent` when an external agent queries its own model.
    """

    model: str
    turn: int
    tier: str = ""
    reason: str = ""
    tokens: Mapping[str, int] = field(default_factory=dict)
    context_window: int = 0
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """Older parts of the conversation were shortened in what is sent to the model; the events are unaffected.

    `tokens_before` and `tokens_after` are the prompt size. The results of `truncated_calls` are cut to their beginning,
    and `retired_attachments`, named by their blobs, are replaced by a note. The messages of the events `first_seq` to
    `until_seq` are replaced by `summary`, except those of `kept_seqs`; `compacted_messages` counts them, and
    `until_seq` 0 means none. `model` wrote the summary; if it failed with `error`, the summary is a plain list.
    """

    reason: str
    tokens_before: int
    tokens_after: int
    truncated_calls: tuple[str, ...] = ()
    first_seq: int = 0
    until_seq: int = 0
    kept_seqs: tuple[int, ...] = ()
    compacted_messages: int = 0
    summary: Text = Text()
    model: str = ""
    usage: Usage = Usage()
    error: ErrorDetails | None = None
    cost: float | None = None
    retired_attachments: tuple[str, ...] = ()


READ_AHEAD = "read_ahead"
"""The stop reason of a reply whose calls Journeyman made itself: it read files that the user named, before the first
request, or ran the command that the user named as the check."""


@dataclass(frozen=True, slots=True)
class Replied:
    """A complete reply of the model arrived.

    `reasoning` is the model's thinking as far as the provider discloses it. `stop_reason` is empty for a normal end,
    else such as `length`, `refused` or READ_AHEAD. `provider_state` is opaque data that the provider expects back
    unchanged with the next request. `note` is a message to the user about irregularities. `first_token_s` is the time
    to the first token; 0 if unknown. `written` is the complete text if calls were read from it; `text` is the rest.
    """

    text: Text = Text()
    reasoning: Text = Text()
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    stop_reason: str = ""
    provider_state: Text = Text()
    note: str = ""
    cost: float | None = None
    first_token_s: float = 0.0
    written: Text = Text()


@dataclass(frozen=True, slots=True)
class ReplyInterrupted:
    """The part of a reply that had arrived when the stream was interrupted."""

    text: Text = Text()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RequestRetried:
    """A request failed with `error` and is sent again after `wait_s` seconds; `attempt` counts the failures so far."""

    error: ErrorDetails
    attempt: int
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool call is about to be executed. Written durably before it has any effect.

    `step_kind` and `object` are the kind and text of its timeline row, such as `command` and `make test`.
    """

    call_id: str
    tool: str
    step_kind: str
    object: str = ""


@dataclass(frozen=True, slots=True)
class CallRefused:
    """A tool call was not executed.

    `reason` is given to the model as its result; `rule_id` names the rule that denied it.
    """

    call_id: str
    tool: str
    reason: Text
    rule_id: str = ""


@dataclass(frozen=True, slots=True)
class FileChanged:
    """A tool call created, changed or deleted a file. Written just before the end of the call.

    `path` is relative to the folder. `before` and `after` are blob names of the contents (of a link, its target) or "".
    `added` and `removed` count lines. `mode_before` and `mode_after` are permission bits; 0 means unknown.
    """

    call_id: str
    path: str
    before: str = ""
    after: str = ""
    added: int = 0
    removed: int = 0
    mode_before: int = 0
    mode_after: int = 0


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool call finished with the result `output`; the model receives `excerpt` instead if it is not empty.

    `failed` marks an error result, and `exit_code` is that of a command. `unrestorable` lists, in display form, files
    the call changed whose earlier contents were not captured, so that a rewind cannot restore them. `changed_history`
    lists the git folders in which the call changed references, such as branches, tags and notes.
    """

    call_id: str
    output: Text
    failed: bool = False
    exit_code: int | None = None
    attachments: tuple[Attachment, ...] = ()
    unrestorable: tuple[str, ...] = ()
    excerpt: Text = Text()
    changed_history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BackgroundCommandEnded:
    """A command running in the background has ended; `reason` is set if a limit, for example, ended it.

    `unrestorable` and `changed_history` are those of `ToolReturned`.
    """

    call_id: str
    command: str
    output: Text = Text()
    exit_code: int | None = None
    reason: str = ""
    unrestorable: tuple[str, ...] = ()
    changed_history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """The agent recorded a decision. `intent` is its goal, `choice` the label of the chosen option."""

    call_id: str
    intent: str
    options: tuple[DecisionOption, ...] = ()
    choice: str = ""
    reason: str = ""
    constraints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IssueReported:
    """The agent reported an issue that it found and did not fix itself; `fix` is its suggestion."""

    call_id: str
    severity: Literal["low", "medium", "high"]
    description: str
    cause: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class UntrustedContentRead:
    """The run has read untrusted content: from now on, outbound access needs approval even if a rule would allow it.

    `source` names the origin, as in `web: example.com`. `call_id` is empty if the content did not come from a tool
    call. It is then part of the message that follows, unless `in_instructions` says that it is part of the project
    instructions.
    """

    call_id: str
    source: str
    in_instructions: bool = False


@dataclass(frozen=True, slots=True)
class SandboxTested:
    """The command sandbox was tested. Written before the first command of a run.

    `sandbox` is its technology and `level` its strength. `escapes` lists the escapes that succeeded; if there are
    any, commands are disabled for the run. `known_gaps` lists escapes that this system is known not to prevent.
    """

    sandbox: str
    level: SandboxLevel
    escapes: tuple[str, ...] = ()
    known_gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HookRan:
    """One of the user's hooks ran. `blocked` means that it vetoed the action, with `output` as its reason.

    `trigger` is the moment in the run, such as `before_call`. `exit_code` is None if the hook was killed or did not
    start, which `reason` then explains.
    """

    trigger: str
    command: str
    output: Text = Text()
    exit_code: int | None = None
    reason: str = ""
    call_id: str = ""
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class LimitThresholdReached:
    """A run has used `percent` (80 or 100) of a limit: `turns`, `minutes`, `tokens` or `cost`."""

    limit: str
    used: float
    allowed: float
    percent: int


@dataclass(frozen=True, slots=True)
class LimitRaised:
    """The user extended a limit of the run to `allowed`, in the unit of the limit."""

    limit: str
    allowed: float


@dataclass(frozen=True, slots=True)
class HarnessMessage:
    """Journeyman itself sent the model a message, for example because the model repeated itself."""

    text: Text
    reason: str = ""
    expected_reply: ExpectedReply | None = None


@dataclass(frozen=True, slots=True)
class RunPaused:
    """The run paused between two turns, at the request of the user or because a request failed with `error`."""

    reason: str = ""
    error: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class RunInterrupted:
    """Journeyman quit or crashed during the run; this event is written at the next start.

    The calls `call_ids` had started and may have taken effect.
    """

    reason: str
    call_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResumed:
    """The user resumed the run.

    `resolution` is what happens to the calls that may have run before an interruption; empty if there were none.
    """

    resolution: Literal["", "retry", "skip", "abort"] = ""


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run ended.

    `summary` is the agent's last text if the run ended early; `error` is set if it failed with one.
    """

    status: Literal["completed", "stopped", "limit", "failed"]
    reason: str = ""
    error: ErrorDetails | None = None
    summary: Text = Text()


@dataclass(frozen=True, slots=True)
class RunRated:
    """The run `run_number` was rated by the user or by the task's own check.

    An empty `rating` withdraws an earlier one.
    """

    run_number: int
    rating: Literal["up", "down", ""]
    note: Text = Text()
    tags: tuple[str, ...] = ()
    by: Literal["user", "check"] = "user"


SessionEvent = (
    SessionCreated | SessionForked | ScheduleTriggered | WorktreeCreated | RunStarted
    | ModelChanged | TextCallsEnabled | UserMessage | QueueChanged
    | RequestSent | ContextCompacted | Replied | ReplyInterrupted | RequestRetried
    | CallStarted | CallRefused | FileChanged | ToolReturned
    | BackgroundCommandEnded | SubagentStarted | SubagentEnded | QuestionAsked
    | QuestionAnswered | QuestionAnswerStarted | PermissionRequested | PermissionDecided
    | CallAllowed | ModeChanged | DecisionMade | IssueReported | UntrustedContentRead
    | SkillUsed | MemoriesRecalled | MemoryOperationFailed | ProposalCreated
    | ProposalStateChanged | SandboxTested | HookRan | LimitThresholdReached | LimitRaised
    | HarnessMessage | RunPaused | RunInterrupted | RunResumed | RunEnded
    | FilesRewound | RunRated | SessionRenamed | SessionPinned
    | SessionArchived | SessionTrashed | UnrecognizedRecordsKept | TranscriptImported
    | ExternalAgentStarted | ExternalAgentSettingChanged
)  # fmt: skip


# The stored name of each event: in the event log, in exports and on the command line. A name never changes and is never
# used for another event; a golden file per name checks that.
EVENT_CLASSES: Mapping[str, type[SessionEvent]] = {
    "session_created": SessionCreated,
    "session_forked": SessionForked,
    "schedule_triggered": ScheduleTriggered,
    "worktree_created": WorktreeCreated,
    "run_started": RunStarted,
    "model_changed": ModelChanged,
    "text_calls_enabled": TextCallsEnabled,
    "user_message": UserMessage,
    "queue_changed": QueueChanged,
    "request_sent": RequestSent,
    "context_compacted": ContextCompacted,
    "replied": Replied,
    "reply_interrupted": ReplyInterrupted,
    "request_retried": RequestRetried,
    "call_started": CallStarted,
    "call_refused": CallRefused,
    "file_changed": FileChanged,
    "tool_returned": ToolReturned,
    "background_command_ended": BackgroundCommandEnded,
    "subagent_started": SubagentStarted,
    "subagent_ended": SubagentEnded,
    "question_asked": QuestionAsked,
    "question_answered": QuestionAnswered,
    "question_answer_started": QuestionAnswerStarted,
    "permission_requested": PermissionRequested,
    "permission_decided": PermissionDecided,
    "call_allowed": CallAllowed,
    "mode_changed": ModeChanged,
    "decision_made": DecisionMade,
    "issue_reported": IssueReported,
    "untrusted_content_read": UntrustedContentRead,
    "skill_used": SkillUsed,
    "memories_recalled": MemoriesRecalled,
    "memory_operation_failed": MemoryOperationFailed,
    "proposal_created": ProposalCreated,
    "proposal_state_changed": ProposalStateChanged,
    "sandbox_tested": SandboxTested,
    "hook_ran": HookRan,
    "limit_threshold_reached": LimitThresholdReached,
    "limit_raised": LimitRaised,
    "harness_message": HarnessMessage,
    "run_paused": RunPaused,
    "run_interrupted": RunInterrupted,
    "run_resumed": RunResumed,
    "run_ended": RunEnded,
    "files_rewound": FilesRewound,
    "run_rated": RunRated,
    "session_renamed": SessionRenamed,
    "session_pinned": SessionPinned,
    "session_archived": SessionArchived,
    "session_trashed": SessionTrashed,
    "unrecognized_records_kept": UnrecognizedRecordsKept,
    "transcript_imported": TranscriptImported,
    "external_agent_started": ExternalAgentStarted,
    "external_agent_setting_changed": ExternalAgentSettingChanged,
}
EVENT_KINDS: Mapping[type[SessionEvent], str] = {event: kind for kind, event in EVENT_CLASSES.items()}


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event together with its place in the journal.

    `seq` numbers the events of a session from 1 and `run` its runs (0: before the first); `at` is in microseconds.
    """

    session: str
    seq: int
    run: int
    at: int
    event: SessionEvent
