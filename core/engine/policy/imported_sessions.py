"""The restrictions on imported sessions: they are read-only, and their forks start without any permissions."""

from dataclasses import replace

from core.domain.events import (
    EVENT_KINDS,
    BackgroundCommandEnded,
    CallRefused,
    CallStarted,
    ContextCompacted,
    DecisionMade,
    HarnessMessage,
    HookRan,
    IssueReported,
    LimitThresholdReached,
    ModelChanged,
    QueueChanged,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
    SandboxTested,
    SessionCreated,
    SessionEvent,
    SessionForked,
    SubagentEnded,
    ToolReturned,
    UntrustedContentRead,
    UserMessage,
)
from core.domain.external_agents import AGENT_PREFIX, is_external_agent
from core.domain.import_events import TranscriptImported, UnrecognizedRecordsKept, source_program
from core.domain.modes import DEFAULT_MODE
from core.domain.permissions import ModeChanged, PermissionDecided, PermissionRequested
from core.domain.problems import Problem
from core.domain.provenance import ContentSource, source_label
from core.domain.question import QuestionAnswered, QuestionAnswerStarted, QuestionAsked
from core.domain.recall_events import MemoriesRecalled
from core.domain.session_metadata import SessionMetadataEvent
from core.domain.sessions import SessionRow

# Events that only describe the conversation and its calls: no run and no other part of Journeyman acts on them.
DESCRIPTIVE_EVENTS = (
    BackgroundCommandEnded,
    CallRefused,
    CallStarted,
    ContextCompacted,
    DecisionMade,
    HarnessMessage,
    HookRan,
    IssueReported,
    LimitThresholdReached,
    MemoriesRecalled,
    PermissionDecided,
    PermissionRequested,
    QuestionAnswerStarted,
    QuestionAnswered,
    QuestionAsked,
    QueueChanged,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunResumed,
    SandboxTested,
    SessionCreated,
    SessionForked,
    SessionMetadataEvent,
    SubagentEnded,
    ToolReturned,
    TranscriptImported,
    UnrecognizedRecordsKept,
    UntrustedContentRead,
    UserMessage,
)


def refuse_imported(row: SessionRow) -> None:
    """Raise Problem if the session was imported. Renaming, pinning, archiving and deleting stay possible."""
    if row.imported_from:
        raise Problem(
            "This session was imported and is read-only.",
            f"It was recorded by {source_program(row.imported_from)}.",
            f"Fork it to continue: journeyman fork {row.id}",
        )


def import_label(source: str) -> str:
    """Return the label of an imported session as an untrusted source."""
    return source_label(ContentSource("import", source_program(source)))


def without_permissions(event: SessionEvent, source: str) -> SessionEvent:
    """Return the event as it is copied into a fork of an imported session, without anything Journeyman would act on.

    Left out are for example acceptance checks, an external agent, and the contents to which files could be reverted.
    The imported session is added to the untrusted sources of the run.
    """
    match event:
        case RunStarted():
            sources = tuple(dict.fromkeys((*event.untrusted_sources, import_label(source))))
            return RunStarted(_model_name(event.model), interactive=event.interactive, untrusted_sources=sources)
        case ModelChanged(model=model):
            return ModelChanged(_model_name(model))
        case ModeChanged():
            return replace(event, mode=DEFAULT_MODE)
        case _ if isinstance(event, DESCRIPTIVE_EVENTS):
            return event
        case _:  # Replace the event instead of dropping it, because others refer to events by sequence number.
            return UnrecognizedRecordsKept(EVENT_KINDS[type(event)])


def _model_name(model: str) -> str:
    """Remove the prefix that makes a model name start an external agent, because that name can be a command."""
    while is_external_agent(model):
        model = model.removeprefix(AGENT_PREFIX)
    return model
