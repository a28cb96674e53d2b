"""Scans the folder for files that an external agent changed, so that the changes can be shown and reverted."""

import asyncio
from dataclasses import dataclass, field

from core.domain.events import FileChanged, SessionEvent
from core.engine.run.execute import file_changed_event
from core.engine.run.run_context import RunContext
from core.store.blobs import blob_hash
from core.store.journal_update import JournalUpdate
from core.tools.run import summarized_paths
from core.workspace.folder_scan import FolderScan
from core.workspace.history_changes import HistoryChanges
from core.workspace.threads import run_to_completion


@dataclass(frozen=True, slots=True)
class RestorableChanges:
    """The file changes that a comparison of the folder found.

    Attributes:
        events: the changes whose contents can be restored.
        blobs: the contents before and after, by hash.
        unsaved: display names of the changed files whose contents were not saved.
    """

    events: list[SessionEvent] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    unsaved: tuple[str, ...] = ()


class ExternalFileChanges:
    """Compares the folder before and after each tool call of the agent. Call `close` when the run ends.

    Changes made by Journeyman's own tools are left out, because those tools record them.
    """

    def __init__(self, run: RunContext) -> None:
        self._session = run.session
        self._scan = FolderScan(run.tool_context.folder, broker=run.tool_context.broker)
        self._history = HistoryChanges(run.tool_context.folder)
        self._recorded: dict[str, str] = {}  # Hash of the contents that Journeyman's own tools wrote, by path.
        self._lock = asyncio.Lock()
        self._forget = run.journal.listen(self._on_event)

    def close(self) -> None:
        self._forget()

    async def take_snapshot(self) -> None:
        async with self._lock:
            await run_to_completion(self._scan.scan_before)
            await run_to_completion(self._history.keep, self._scan.git_places)
            self._recorded.clear()

    async def changes_since_snapshot(self, call: str) -> RestorableChanges:
        """Return the file changes since the last snapshot, as events of `call`, and take the next snapshot."""
        async with self._lock:
            changes, unreadable = await run_to_completion(self._scan.changes_since)
            found = RestorableChanges(unsaved=summarized_paths(unreadable.unrecorded))
            for change in changes:
                new_hash = "" if change.after is None else blob_hash(change.after)
                if self._recorded.get(change.path) != new_hash:
                    found.events.append(file_changed_event(call, change, found.blobs))
            self._recorded.clear()
        return found

    async def changed_history(self) -> tuple[str, ...]:
        """Return the `.git` folders whose references (such as branches) changed since this method was last called."""
        async with self._lock:
            return await run_to_completion(self._history.take, self._scan.git_places)

    def _on_event(self, update: JournalUpdate) -> None:
        event = update.entry.event
        if update.entry.session == self._session and isinstance(event, FileChanged):
            self._recorded[event.path] = event.after
