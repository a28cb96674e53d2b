"""The words of rows that are no act of the agent: limits, modes, walls, what the folder said of itself."""

from core.domain.agents import AgentJoined, AgentTurned, joined_words, turned_words
from core.domain.consent import ModeSet
from core.domain.events import (
    CallsWritten,
    Guide,
    LimitMet,
    LimitRaised,
    ModelChosen,
    Nudged,
    QueueChanged,
    SandboxProven,
)
from core.domain.exchanged import TranscriptRead, read_words
from core.domain.modes import MODE_WORDS
from core.domain.schedule import Scheduled, notice_of
from core.domain.worktree import WorktreeMade
from core.domain.worktree import notice_of as of_worktree

Notice = (
    LimitMet
    | LimitRaised
    | Nudged
    | ModeSet
    | ModelChosen
    | CallsWritten
    | SandboxProven
    | QueueChanged
    | Scheduled
    | WorktreeMade
    | TranscriptRead
    | AgentJoined
    | AgentTurned
)


def of_guide(guide: Guide) -> str:
    """What the folder said of itself, and how much of it was told."""
    if guide.trouble:
        return f"{guide.name}: {guide.trouble}"
    return guide.name if guide.told >= guide.size else f"{guide.name}: the first {guide.told:,} of {guide.size:,} signs"


def notice(event: Notice) -> str:
    """What Journeyman noted of the run itself."""
    match event:
        case AgentJoined():
            return joined_words(event)
        case AgentTurned():
            return turned_words(event)
        case Scheduled():
            return notice_of(event)
        case WorktreeMade():
            return of_worktree(event)
        case LimitMet(limit=limit, used=used, allowed=allowed):
            return f"{used:g} of {allowed:g} {limit}"
        case LimitRaised(limit=limit, allowed=allowed):
            return f"{limit}: up to {allowed:g}"
        case Nudged(why=why):
            return why
        case SandboxProven(open=found) if found:
            return f"commands are off: the test of the sandbox got out ({', '.join(found)})"
        case SandboxProven(sandbox=name, level="none"):
            return "this machine offers no sandbox: a command runs only when you allow it"
        case SandboxProven(sandbox=name):
            return f"commands are confined by {name} only: protected files of the folder are open to them"
        case ModelChosen(model=model, effort=effort):
            return f"the model is {model}" + (f", effort {effort}" if effort else "")
        case CallsWritten(model=model, why=why):
            return f"{model} has no tool calls and writes them as text" + (f": {why}" if why else "")
        case QueueChanged(did=did, text=text):
            said = {"edited": "you changed a queued message to", "taken back": "you took a queued message back"}
            return f"{said.get(did, 'you put a queued message back')}: {text.head.strip()}"
        case TranscriptRead():
            return f"imported: {read_words(event)}"
        case ModeSet(mode=mode):
            return f"Mode: {MODE_WORDS[mode]}"
