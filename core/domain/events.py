"""Everything that can happen in a session, as facts that never change.

Kinds are for ever: a new field has a default, a name is never used again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from core.domain.agents import AgentJoined, AgentTurned
from core.domain.consent import CallAllowed, ConsentAsked, ConsentGiven, Level, ModeSet
from core.domain.decision import Choice
from core.domain.exchanged import RecordKept, TranscriptRead
from core.domain.filing import SessionArchived, SessionPinned, SessionRenamed, SessionTrashed
from core.domain.modes import DEFAULT_MODE, Mode
from core.domain.problems import Trouble
from core.domain.proposal import ProposalMade, ProposalSettled
from core.domain.question import Autonomy, QuestionAnswered, QuestionAsked, QuestionHeld, Unanswered
from core.domain.recalled import MemoryFailed, MemoryRecalled
from core.domain.rewinding import FilesRewound
from core.domain.schedule import Scheduled
from core.domain.skill import Offered, SkillUsed
from core.domain.text import Attachment, Text
from core.domain.worktree import WorktreeMade


@dataclass(frozen=True, slots=True)
class Call:
    """A call the model asks for. `arguments` is JSON as the model wrote it."""

    id: str
    tool: str
    arguments: Text = Text()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens. `cached` and `written` are parts of `input`, `reasoning` is a part of `output`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    written: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """`parent` is the session whose call `parent_call` began this one, `called` the name it goes by there.

    `source` is who wrote an imported session, and its name there: nobody works in it, it is read.
    """

    session_id: str
    workspace: str
    title: str
    parent: str = ""
    parent_call: str = ""
    called: str = ""
    depth: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class SessionForked:
    """Everything before this was copied from `origin`, up to its entry `until`. What follows happened here alone."""

    origin: str
    until: int
    why: Literal["fork", "edit", "model"] = "fork"


@dataclass(frozen=True, slots=True)
class Guide:
    """A file of the folder that speaks to agents: its characters, how many were told, and why none were."""

    name: str
    size: int = 0
    told: int = 0
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """How the run is to be done. A limit of 0 is none; `attended`: a person can be asked to extend one.

    `agent` names a profile, `system` is what the model is told of itself, `tools` those it may call (none named: all),
    `guides` what the folder said. `role` is the part that a sub-agent plays in a script, `schema` the shape that its
    last reply must have. `in_words`: the model writes its calls as text.
    `boundary` surrounds words that are data: nobody could have known it.
    `mode` is what may happen unasked, `allow` what the person allowed this run besides, as `TOOL` or `TOOL:PATTERN`.
    `taint` are the strangers whose words the agent has read that gave it its task.
    `review` is the session that this run looks back at.
    `effort`, `max_output` and `temperature` are asked of the model where they are set.
    `skills` are those that it was told of, `without` the memories and skills that are kept from it for comparison.
    `autonomy` says how often the agent may ask, `unanswered` what happens when nobody answers for `answer_minutes`.
    """

    model: str
    max_rounds: int = 0
    script: Text = Text()
    max_minutes: float = 0.0
    max_tokens: int = 0
    max_cost: float = 0.0
    attended: bool = False
    agent: str = ""
    system: Text = Text()
    tools: tuple[str, ...] = ()
    guides: tuple[Guide, ...] = ()
    boundary: str = ""
    role: str = ""
    schema: Text = Text()
    mode: Mode = DEFAULT_MODE
    allow: tuple[str, ...] = ()
    taint: tuple[str, ...] = ()
    autonomy: Autonomy = "balanced"
    unanswered: Unanswered = "wait"
    answer_minutes: float = 0.0
    in_words: bool = False
    effort: str = ""
    max_output: int = 0
    temperature: float | None = None
    skills: tuple[Offered, ...] = ()
    review: str = ""
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelChosen:
    """From the next request on this model is asked, and so much of it."""

    model: str
    effort: str = ""
    max_output: int = 0
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class CallsWritten:
    """From the next request on this model, which has no tool calls, writes them as text. `why` is how that is known."""

    model: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class PersonSpoke:
    text: Text
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """What waits for the next request, as the person wants it: `order` names the entries that still wait, in turn.

    Words that it does not name were taken back; they wait again where a later one names them. `target` is the entry
    of the words that were changed, and `text` is what they say from now on, or said.
    """

    did: Literal["edited", "moved", "taken back", "put back"]
    target: int
    order: tuple[int, ...] = ()
    text: Text = Text()


@dataclass(frozen=True, slots=True)
class RequestSent:
    """Durable before the request leaves.

    `tier` and `why` say why this model. `tokens` are the parts of the request, about, by category (`results:read` are
    results of the tool read), `window` the most that the model takes; 0 is unknown. With a `role` it is no reply to
    the person that is asked for, but other work: `summary` is one; with `agent` an agent of others asks its own model.
    """

    model: str
    round: int
    tier: str = ""
    why: str = ""
    tokens: Mapping[str, int] = field(default_factory=dict)
    window: int = 0
    role: str = ""


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """Older parts of what the model is sent gave way to less. The journal keeps them, and they can be read back.

    `before` and `after` are tokens. Results of the calls `folded` are heads from here on. Of the entries up to `until`
    only `kept` stays, word for word, and `summary` stands for the rest, from `first` on, `dropped` messages; `until` 0:
    nothing was. `model` wrote it for `usage` and `cost`; where it could not, for `trouble`, Journeyman made a list.
    """

    why: str
    before: int
    after: int
    folded: tuple[str, ...] = ()
    first: int = 0
    until: int = 0
    kept: tuple[int, ...] = ()
    dropped: int = 0
    summary: Text = Text()
    model: str = ""
    usage: Usage = Usage()
    trouble: Trouble | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Replied:
    """`stop` is why the model ended, empty when it was done. `carry` is what its server wants back unread.

    `note` is what a person should know of how it was read, `cost` what it cost in US dollars; None is unknown.
    """

    text: Text = Text()
    reasoning: Text = Text()
    calls: tuple[Call, ...] = ()
    usage: Usage = Usage()
    stop: str = ""
    carry: Text = Text()
    note: str = ""
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ReplyCut:
    """What had arrived of a reply that did not end."""

    text: Text = Text()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Retried:
    """A request failed and is made again after `wait_s`."""

    trouble: Trouble
    attempt: int
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class CallStarted:
    """Durable before the act. `step` and `object` are the row a person sees."""

    call_id: str
    tool: str
    step: str
    object: str = ""


@dataclass(frozen=True, slots=True)
class CallRefused:
    """A call that was not run, and what the model is told instead of a result; `rule` is the id of one that denied."""

    call_id: str
    tool: str
    reason: Text
    rule: str = ""


@dataclass(frozen=True, slots=True)
class FileChanged:
    """`before` and `after` name the contents kept as blobs; empty means there was, or is, no file.

    The modes are the permission bits; 0 means that they are not known.
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
    call_id: str
    output: Text
    failed: bool = False
    exit_code: int | None = None
    attachments: tuple[Attachment, ...] = ()
    unkept: tuple[str, ...] = ()  # what it changed that was not kept and cannot be put back, as it is shown


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """A command that ran in the background has ended. `why` says what ended it, where it did not end by itself."""

    call_id: str
    command: str
    output: Text = Text()
    exit_code: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Delegated:
    """A call gave work to a sub-agent, whose session is `child`. Durable before that session is."""

    call_id: str
    child: str
    called: str
    task: Text = Text()


@dataclass(frozen=True, slots=True)
class DelegateEnded:
    """What a sub-agent used, and how it ended; its result is that of the call."""

    call_id: str
    child: str
    status: str
    rounds: int = 0
    tokens: int = 0
    cost: float = 0.0
    minutes: float = 0.0


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """Options weighed, one chosen."""

    call_id: str
    intent: str
    options: tuple[Choice, ...] = ()
    choice: str = ""
    reason: str = ""
    constraints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProblemReported:
    """Something the agent met and did not mend."""

    call_id: str
    severity: Literal["low", "medium", "high"]
    what: str
    cause: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Tainted:
    """From here on the run has read words of strangers: `source` is where they came from."""

    call_id: str
    source: str


@dataclass(frozen=True, slots=True)
class SandboxProven:
    """How well the commands of this run are confined, found out before its first one.

    `open` are the ways out that a test of the walls found, and commands are off then; `known` are open by design.
    """

    sandbox: str
    level: Level
    open: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HookRan:
    """A command of the person that runs at this moment of a run. `refused`: it said no, and what it said is why.

    `exit_code` is None where it was ended, and `why` says by what.
    """

    moment: str
    command: str
    output: Text = Text()
    exit_code: int | None = None
    why: str = ""
    call_id: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class LimitMet:
    """A limit is near (`share` 80) or reached (100)."""

    limit: str
    used: float
    allowed: float
    share: int


@dataclass(frozen=True, slots=True)
class LimitRaised:
    limit: str
    allowed: float


@dataclass(frozen=True, slots=True)
class Nudged:
    """What Journeyman itself told the model, because it was stuck."""

    text: Text
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunPaused:
    """Between two rounds, by the person, or because a request failed that may work later."""

    why: str = ""
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True)
class RunInterrupted:
    """The program ended while the run was going. Each of `calls` started and may have run."""

    why: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A person let the run go on, and said what to do with calls that may have run."""

    settled: Literal["", "again", "skip", "end"] = ""


@dataclass(frozen=True, slots=True)
class RunEnded:
    status: Literal["completed", "stopped", "limit", "failed"]
    reason: str = ""
    trouble: Trouble | None = None
    summary: Text = Text()


@dataclass(frozen=True, slots=True)
class VerdictGiven:
    """Was the run with this number any good? The person's word or that of its own check; empty takes it back."""

    number: int
    verdict: Literal["up", "down", ""]
    note: Text = Text()
    tags: tuple[str, ...] = ()
    by: Literal["person", "check"] = "person"


RunEvent = (
    SessionOpened
    | SessionForked
    | Scheduled
    | WorktreeMade
    | RunStarted
    | ModelChosen
    | CallsWritten
    | PersonSpoke
    | QueueChanged
    | RequestSent
    | ContextCompacted
    | Replied
    | ReplyCut
    | Retried
    | CallStarted
    | CallRefused
    | FileChanged
    | ToolReturned
    | CommandEnded
    | Delegated
    | DelegateEnded
    | QuestionAsked
    | QuestionAnswered
    | QuestionHeld
    | ConsentAsked
    | ConsentGiven
    | CallAllowed
    | ModeSet
    | DecisionMade
    | ProblemReported
    | Tainted
    | SkillUsed
    | MemoryRecalled
    | MemoryFailed
    | ProposalMade
    | ProposalSettled
    | SandboxProven
    | HookRan
    | LimitMet
    | LimitRaised
    | Nudged
    | RunPaused
    | RunInterrupted
    | RunResumed
    | RunEnded
    | FilesRewound
    | VerdictGiven
    | SessionRenamed
    | SessionPinned
    | SessionArchived
    | SessionTrashed
    | RecordKept
    | TranscriptRead
    | AgentJoined
    | AgentTurned
)


def kind_of(event: type[RunEvent]) -> str:
    """`ToolReturned` → `tool_returned`: the name in the journal and on the command line."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in event.__name__).lstrip("_")


KINDS: dict[str, type[RunEvent]] = {kind_of(event): event for event in get_args(RunEvent)}


@dataclass(frozen=True, slots=True)
class Entry:
    """One numbered line of a journal. `run` counts the runs of its session, `at` is in microseconds."""

    session: str
    seq: int
    run: int
    at: int
    event: RunEvent
