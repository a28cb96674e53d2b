"""Timeline texts of notices: events that are not steps of the agent, such as limits and mode changes."""

from core.domain.events import (
    HarnessMessage,
    InstructionFile,
    LimitRaised,
    LimitThresholdReached,
    ModelChanged,
    QueueChanged,
    SandboxTested,
    TextCallsEnabled,
)
from core.domain.external_agents import (
    ExternalAgentSettingChanged,
    ExternalAgentStarted,
    agent_started_text,
    setting_changed_text,
)
from core.domain.import_events import TranscriptImported, transcript_imported_text
from core.domain.modes import MODE_LABELS
from core.domain.permissions import ModeChanged
from core.domain.schedule import ScheduleTriggered, schedule_notice
from core.domain.worktree import WorktreeCreated, worktree_notice

Notice = (
    LimitThresholdReached
    | LimitRaised
    | HarnessMessage
    | ModeChanged
    | ModelChanged
    | TextCallsEnabled
    | SandboxTested
    | QueueChanged
    | ScheduleTriggered
    | WorktreeCreated
    | TranscriptImported
    | ExternalAgentStarted
    | ExternalAgentSettingChanged
)


def instruction_file_text(file: InstructionFile) -> str:
    """Return the timeline text for a project instruction file."""
    if file.error:
        return f"{file.name}: {file.error}"
    tokens = f", about {file.tokens:,} tokens" if file.tokens else ""
    if file.included >= file.size:
        return file.name + tokens
    return f"{file.name}: the first {file.included:,} of {file.size:,} characters{tokens}"


def notice_text(event: Notice) -> str:
    """Return the timeline text for an event that is shown as a notice."""
    match event:
        case ExternalAgentStarted():
            return agent_started_text(event)
        case ExternalAgentSettingChanged():
            return setting_changed_text(event)
        case ScheduleTriggered():
            return schedule_notice(event)
        case WorktreeCreated():
            return worktree_notice(event)
        case LimitThresholdReached(limit=limit, used=used, allowed=allowed):
            return f"{used:g} of {allowed:g} {limit}"
        case LimitRaised(limit=limit, allowed=allowed):
            return f"{limit}: up to {allowed:g}"
        case HarnessMessage(reason=reason):
            return reason
        case SandboxTested(escapes=escapes) if escapes:
            return f"commands are disabled: the sandbox test found an escape ({', '.join(escapes)})"
        case SandboxTested(sandbox=name, level="none"):
            return "no sandbox is available on this computer: each command needs your approval"
        case SandboxTested(sandbox=name):
            return f"commands are sandboxed by {name} only: they can change protected files in the folder"
        case ModelChanged(model=model, effort=effort):
            return f"the model is {model}" + (f", effort {effort}" if effort else "")
        case TextCallsEnabled(model=model, reason=reason):
            return f"{model} does not support tool calls and writes them as text" + (f": {reason}" if reason else "")
        case QueueChanged(action=action, text=text):
            labels = {"edited": "you edited a queued message", "removed": "you removed a queued message"}
            return f"{labels.get(action, 'you restored a queued message')}: {text.head.strip()}"
        case TranscriptImported():
            return f"imported: {transcript_imported_text(event)}"
        case ModeChanged(mode=mode):
            return f"Mode: {MODE_LABELS[mode]}"
