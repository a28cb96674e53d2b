"""The actions on memories: add, edit, pin, archive, forget, erase, import and export. Most of them can be undone."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from core.domain.memory import Memory
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from ui.base.panel_page import ShowToast, StartTask
from ui.memory.controller import MemoryAction, MemoryController, MemoryInput
from ui.memory.journal_dialog import JournalDialog
from ui.memory.memory_dialog import MemoryDialog
from ui.memory.texts import tr
from ui.style.theme import Look
from ui.widgets.confirm_dialog import ConfirmDialog


class _Result(NamedTuple):
    """What follows an action on a memory: a message, the action that undoes it, and whether the memory stays open."""

    message: str
    undo: MemoryAction | None = None
    stays_open: bool = False


class MemoryActionsHost(Protocol):
    """What the actions need from the Memory page."""

    look: Look

    def refresh(self, memory_id: str = "") -> None: ...

    def scope_folders(self) -> Sequence[str]: ...


class MemoryActions:
    """Runs the actions. Afterwards, `page` is refreshed, and a toast reports the result with Undo where possible.

    Dialogs are shown above `parent`.
    """

    def __init__(
        self,
        page: MemoryActionsHost,
        parent: QWidget,
        controller: MemoryController,
        *,
        start_task: StartTask,
        show_toast: ShowToast,
    ) -> None:
        self._page = page
        self._parent = parent
        self._controller = controller
        self._start_task = start_task
        self._show_toast = show_toast

    def open_dialog(self, memory: Memory | None = None, rejected: MemoryInput | None = None, reason: str = "") -> None:
        """Open the dialog to add or edit a memory.

        `rejected` is an earlier input that the engine refused; `reason` says why.
        """
        dialog = MemoryDialog(self._page.look, self._page.scope_folders(), memory, self._parent)
        if rejected:
            dialog.show_rejected(rejected, reason)
        dialog.submitted.connect(partial(self._edit, memory) if memory else self._add)
        dialog.open()

    def run_action(self, action: MemoryAction, memory: Memory) -> None:
        """Run an action that the user chose on the card of a memory. Only erasing asks for confirmation."""
        if action == MemoryAction.ERASE:
            text = tr("This deletes the memory, its versions and its usage history. It cannot be undone.")
            act = partial(self._run, action, memory.id)
            ConfirmDialog(self._page.look, tr("Erase this memory?"), text, tr("Erase"), act, self._parent).open()
        else:
            self._run(action, memory.id)

    def undo_change(self, memory: Memory, number: int) -> None:
        """Undo the change with this number of a memory."""

        async def send() -> None:
            change = await self._controller.undo(memory.id, number)
            self._page.refresh(memory.id if change else "")
            self._show_toast(tr("Change {} undone.").format(number), partial(self._undo, memory.id, change))

        self._start_task(send(), "undo a change of a memory")

    def forget_all(self, *, session: str = "", folder: str = "") -> None:
        """Forget what was learned from a session or for a folder, except for memories that the user wrote."""

        async def send() -> None:
            forgotten = await self._controller.forget_all(session=session, folder=folder)
            self._page.refresh()
            count = len(forgotten.memories)
            text = tr("Forgot 1 memory.") if count == 1 else tr("Forgot {} memories.").format(count)
            if rejected := len(forgotten.proposals) - len(forgotten.skills):
                text += " " + tr("Proposals rejected: {}.").format(rejected)
            if forgotten.skills:
                text += " " + tr("Skill changes undone: {}.").format(len(forgotten.skills))
            undo = partial(self._restore, forgotten.memories, forgotten.proposals)
            self._show_toast(text, undo if forgotten.memories or forgotten.proposals else None)

        self._start_task(send(), "forget memories")

    def tidy(self) -> None:
        async def send() -> None:
            tidied = await self._controller.tidy()
            self._page.refresh()
            text = tr("Memories archived: {}. New proposals: {}.").format(len(tidied.archived), len(tidied.proposed))
            self._show_toast(text, partial(self._restore, tidied.archived) if tidied.archived else None)

        self._start_task(send(), "tidy the memories")

    def show_journal(self) -> None:
        """Show what was learned on each day."""

        async def show() -> None:
            dialog = JournalDialog(self._page.look, await self._controller.learned_by_day(), self._parent)
            dialog.memory_requested.connect(self._page.refresh)
            dialog.open()

        self._start_task(show(), "list what was learned")

    def ask_export(self) -> None:
        dialog = self._file_dialog(tr("Export memories"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("json")
        dialog.selectFile("journeyman-memories.json")
        dialog.fileSelected.connect(self.export)
        dialog.open()

    def export(self, target: str) -> None:
        async def send() -> None:
            await self._controller.export(target)
            self._show_toast(tr("Exported the memories to {}.").format(target))

        self._start_task(send(), "export memories")

    def ask_import(self) -> None:
        dialog = self._file_dialog(tr("Import memories"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        kinds = tr("Memories (*.json *.md *.db *.sqlite *.sqlite3)")
        dialog.setNameFilters([kinds, tr("All files (*)")])
        dialog.fileSelected.connect(self.import_file)
        dialog.open()

    def import_file(self, source: str) -> None:
        async def send() -> None:
            new = await self._controller.import_file(source)
            self._page.refresh(new[0] if new else "")
            text = tr("Imported 1 new memory.") if len(new) == 1 else tr("Imported {} new memories.")
            self._show_toast(text.format(len(new)), partial(self._undo_import, new) if new else None)

        self._start_task(send(), "import memories")

    def accept_proposal(self, proposal: Proposal, text: str | None, on_resolved: Callable[[], None]) -> None:
        """Accept a proposal, then call `on_resolved`.

        `text` is the text as the user edited it; None if unchanged.
        """
        accept = self._controller.accept_proposal(proposal.id, text)
        self._start_task(self._resolve(accept, tr("Proposal accepted."), on_resolved), "accept a proposal")

    def reject_proposal(self, proposal: Proposal, on_resolved: Callable[[], None]) -> None:
        """Reject a proposal, then call `on_resolved`."""
        reject = self._controller.reject_proposal(proposal.id)
        self._start_task(self._resolve(reject, tr("Proposal rejected."), on_resolved), "reject a proposal")

    async def _resolve(self, decision: Awaitable[Proposal], message: str, on_resolved: Callable[[], None]) -> None:
        proposal = await decision
        on_resolved()
        self._page.refresh()  # opens the next proposal
        self._show_toast(message, partial(self._undo_decision, proposal.id))

    def _add(self, entered: MemoryInput) -> None:
        async def send() -> None:
            try:
                added = await self._controller.add(entered)
            except Problem as problem:
                self.open_dialog(None, entered, str(problem))
                return
            self._page.refresh(added.memory_id)
            if added.conflicts:
                text = tr("Memory added. It contradicts another memory; review both.")
            elif added.change:
                text = tr("A memory with this text exists; its confidence was raised.")
            else:
                text = tr("Memory added.")
            undo = partial(self._run, MemoryAction.FORGET, added.memory_id)
            if added.change:
                undo = partial(self._undo, added.memory_id, added.change)
            self._show_toast(text, undo)

        self._start_task(send(), "add a memory")

    def _edit(self, memory: Memory, entered: MemoryInput) -> None:
        async def send() -> None:
            try:
                change = await self._controller.edit(memory.id, entered, memory.version)
            except Problem as problem:
                self.open_dialog(memory, entered, str(problem))
                return
            self._page.refresh(memory.id)
            self._show_toast(tr("Memory changed."), partial(self._undo, memory.id, change))

        self._start_task(send(), "edit a memory")

    def _run(self, action: MemoryAction, name: str, *, is_undo: bool = False) -> asyncio.Task[bool] | None:
        """Carry out an action, offer to undo it, and open the memory or, if it left the list, the next one."""
        result = _result_of(action)
        stays_open = result.stays_open or (is_undo and action == MemoryAction.RESTORE)

        async def send() -> None:
            await self._controller.run_action(action, name)
            self._page.refresh(name if stays_open else "")
            undo = partial(self._run, result.undo, name, is_undo=True) if result.undo else None
            self._show_toast(result.message, undo)

        return self._start_task(send(), f"{action} a memory")

    def _undo(self, name: str, number: int) -> asyncio.Task[bool] | None:
        async def send() -> None:
            version = await self._controller.undo(name, number)
            self._page.refresh(name if version else "")

        return self._start_task(send(), "undo a change of a memory")

    def _undo_decision(self, proposal: str) -> asyncio.Task[bool] | None:
        async def send() -> None:
            await self._controller.undo_decision(proposal)
            self._page.refresh()

        return self._start_task(send(), "undo a proposal")

    def _restore(self, memories: Sequence[str], proposals: Sequence[str] = ()) -> asyncio.Task[bool] | None:
        async def send() -> None:
            await self._controller.undo_forget(memories, proposals)
            self._page.refresh()

        return self._start_task(send(), "restore memories")

    def _undo_import(self, names: Sequence[str]) -> asyncio.Task[bool] | None:
        async def send() -> None:
            for name in names:
                await self._controller.run_action(MemoryAction.FORGET, name)
            self._page.refresh()

        return self._start_task(send(), "forget memories")

    def _file_dialog(self, title: str) -> QFileDialog:
        dialog = QFileDialog(self._parent, title)
        dialog.setObjectName("memory.file")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return dialog


def _result_of(action: MemoryAction) -> _Result:
    """Return what follows an action, with the message in the language of the user."""
    match action:
        case MemoryAction.PIN:
            message = tr("Memory pinned. It is always added to the context and never decays.")
            return _Result(message, MemoryAction.UNPIN, stays_open=True)
        case MemoryAction.UNPIN:
            return _Result(tr("Memory unpinned."), MemoryAction.PIN, stays_open=True)
        case MemoryAction.RATE_HELPFUL:
            message = tr("Rated helpful. It is preferred among similar memories.")
            return _Result(message, MemoryAction.REMOVE_RATING, stays_open=True)
        case MemoryAction.RATE_UNHELPFUL:
            message = tr("Rated not helpful. It is no longer added to any context.")
            return _Result(message, MemoryAction.REMOVE_RATING, stays_open=True)
        case MemoryAction.REMOVE_RATING:
            return _Result(tr("Rating removed."), stays_open=True)
        case MemoryAction.ARCHIVE:
            return _Result(tr("Memory archived. It is no longer added to any context."), MemoryAction.RESTORE)
        case MemoryAction.RESTORE:
            return _Result(tr("Memory restored."), MemoryAction.ARCHIVE)
        case MemoryAction.FORGET:
            return _Result(tr("Memory forgotten."), MemoryAction.RESTORE)
        case MemoryAction.ERASE:
            return _Result(tr("Memory erased."))
