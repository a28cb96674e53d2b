"""Sorts a batch of engine updates by kind: session rows, steps, drafts, requests and MCP server states."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.domain.events import RunResumed, RunStarted
from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.engine.state.live_updates import LiveUpdate
from core.mcp.server_state import McpServerStates
from core.models.local.model_state import LocalModelStates
from core.store.journal_update import CommandEnded, JournalUpdate, MemoriesChanged, SessionsPurged
from ui.base.pausing import PauseRequested
from ui.shell.pending_requests import REQUEST_EVENTS


@dataclass(slots=True)
class UpdateBatch:
    """A batch of engine updates, sorted by kind.

    `touched` holds the latest row of each changed session, and `started` the sessions whose run was started or resumed.
    `requests_changed` is true if the open questions and permission requests may have changed. `servers` is the state of
    the MCP servers, and `local_models` that of the local models, if they changed. `command_ended` is true if a command
    of another process has ended. `pausing` are the sessions that the user has just paused.
    """

    touched: dict[str, SessionRow] = field(default_factory=dict)
    updates: list[JournalUpdate] = field(default_factory=list)
    drafts: list[LiveUpdate] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    requests_changed: bool = False
    servers: McpServerStates | None = None
    local_models: LocalModelStates | None = None
    command_ended: bool = False
    pausing: list[str] = field(default_factory=list)

    def steps_of(self, session: str) -> list[Step]:
        """Return the new and changed steps of a session, in order."""
        return [step for update in self.updates if update.session.id == session for step in update.steps]


def sort_updates(updates: Sequence[object]) -> UpdateBatch:
    batch = UpdateBatch()
    for update in updates:
        match update:
            case JournalUpdate():
                batch.touched[update.session.id] = update.session
                batch.updates.append(update)
                if isinstance(update.entry.event, RunStarted | RunResumed):
                    batch.started.append(update.session.id)
                batch.requests_changed = batch.requests_changed or isinstance(update.entry.event, REQUEST_EVENTS)
            case LiveUpdate():
                batch.drafts.append(update)
            case SessionsPurged():
                batch.deleted += update.sessions
            case McpServerStates():
                batch.servers = update
            case LocalModelStates():
                batch.local_models = update
            case CommandEnded():
                batch.command_ended = True
            case PauseRequested():
                batch.pausing.append(update.session)
            case MemoriesChanged():
                pass  # changes of memories concern only pages, which read the unsorted updates
            case _:
                raise TypeError(update)
    return batch
