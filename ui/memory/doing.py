"""What is done with memories, each with its way back: written, pinned, archived, forgotten, taken in and out."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from core.domain.memory import Memory
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from ui.memory.door import Door, Written
from ui.memory.words import tr
from ui.memory.write_dialog import WriteDialog
from ui.page import Say, Start
from ui.theme import Look
from ui.widgets.confirm import Confirm

BACK = {"pin": "unpin", "unpin": "pin", "archive": "restore", "restore": "archive", "forget": "restore"}


class Shown(Protocol):
    """What of the page is needed here."""

    look: Look

    def refresh(self, wanted: str = "") -> None: ...

    def folders(self) -> Sequence[str]: ...


class Doing:
    """`page` is brought up to date after each deed, `over` is what dialogs stand over."""

    def __init__(self, page: Shown, over: QWidget, door: Door, *, start: Start, say: Say) -> None:
        self._page, self._over, self._door, self._start, self._say = page, over, door, start, say

    def write(self, memory: Memory | None = None, again: Written | None = None, why: str = "") -> None:
        """A new one, or this one again; `again` is what was written and refused, and `why`."""
        dialog = WriteDialog(self._page.look, self._page.folders(), memory, self._over)
        if again:
            dialog.write_again(again, why)
        dialog.given.connect(partial(self._edit, memory) if memory else self._add)
        dialog.open()

    def do(self, deed: str, memory: Memory) -> None:
        """A button of the card, or its key."""
        if deed == "edit":
            self.write(memory)
        elif deed == "erase":
            text = tr("It is gone with its versions and with what was noted of its use. This cannot be taken back.")
            act = partial(self._do, "erase", memory.id)
            Confirm(self._page.look, tr("Erase this memory?"), text, tr("Erase"), act, self._over).open()
        else:
            self._do(deed, memory.id)

    def take_back(self, memory: Memory, number: int) -> None:
        """A change of it, by its number."""

        async def send() -> None:
            done = await self._door.undo(memory.id, number)
            self._page.refresh(memory.id if done else "")
            self._say(tr("Change {} is taken back.").format(number), partial(self._undo, memory.id, done))

        self._start(send(), "take a change back")

    def forget_all(self, *, session: str = "", folder: str = "") -> None:
        """What was learnt from a session or for a folder, but not what a person wrote."""

        async def send() -> None:
            gone = await self._door.forget_all(session=session, folder=folder)
            self._page.refresh()
            count = len(gone.memories)
            said = tr("1 memory is forgotten.") if count == 1 else tr("{} memories are forgotten.").format(count)
            if rejected := len(gone.proposals) - len(gone.skills):
                said += " " + tr("Proposals rejected with it: {}.").format(rejected)
            if gone.skills:
                said += " " + tr("Skills taken back with it: {}.").format(len(gone.skills))
            back = partial(self._bring_back, gone.memories, gone.proposals)
            self._say(said, back if gone.memories or gone.proposals else None)

        self._start(send(), "forget memories")

    def tidy(self) -> None:
        async def send() -> None:
            archived, proposed = await self._door.tidy()
            self._page.refresh()
            said = tr("{} went to the archive; {} new proposals.").format(len(archived), proposed)
            self._say(said, partial(self._bring_back, archived) if archived else None)

        self._start(send(), "tidy the memory")

    def ask_export(self) -> None:
        dialog = self._dialog(tr("Export memories"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("json")
        dialog.selectFile("journeyman-memories.json")
        dialog.fileSelected.connect(self.export)
        dialog.open()

    def export(self, place: str) -> None:
        async def send() -> None:
            await self._door.export(place)
            self._say(tr("The memories are in {}.").format(place))

        self._start(send(), "export memories")

    def ask_import(self) -> None:
        dialog = self._dialog(tr("Import memories"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        kinds = tr("Memories (*.json *.md *.db *.sqlite *.sqlite3)")
        dialog.setNameFilters([kinds, tr("All files (*)")])
        dialog.fileSelected.connect(self.take_in)
        dialog.open()

    def take_in(self, place: str) -> None:
        async def send() -> None:
            new = await self._door.take_in(place)
            self._page.refresh(new[0] if new else "")
            said = tr("1 memory is new.") if len(new) == 1 else tr("{} memories are new.")
            self._say(said.format(len(new)), partial(self._forget_again, new) if new else None)

        self._start(send(), "import memories")

    def settle(self, proposal: Proposal, how: str, text: str | None, done: Callable[[], None]) -> None:
        """Keep a proposal or reject it; `done` is called when that is so."""

        async def send() -> None:
            await self._door.settle(proposal.id, how, text)
            done()
            self._page.refresh()  # the next one that waits is shown
            said = tr("It will be remembered.") if how == "keep" else tr("The proposal is rejected.")
            self._say(said, partial(self._unsettle, proposal.id))

        self._start(send(), f"{how} a proposal")

    def _add(self, written: object) -> None:
        assert isinstance(written, Written)
        words = written

        async def send() -> None:
            try:
                name, again, others = await self._door.add(words)
            except Problem as problem:
                self.write(None, words, str(problem))
                return
            self._page.refresh(name)
            said = tr("This was known; it is surer now.") if again else tr("It will be remembered.")
            if others:
                said = tr("Kept, but another memory says otherwise: look at both.")
            back = partial(self._undo, name, again) if again else partial(self._do, "forget", name)
            self._say(said, back)

        self._start(send(), "add a memory")

    def _edit(self, memory: Memory, written: object) -> None:
        assert isinstance(written, Written)
        words = written

        async def send() -> None:
            try:
                number = await self._door.edit(memory.id, words, memory.version)
            except Problem as problem:
                self.write(memory, words, str(problem))
                return
            self._page.refresh(memory.id)
            self._say(tr("The memory is changed."), partial(self._undo, memory.id, number))

        self._start(send(), "edit a memory")

    def _do(self, deed: str, name: str) -> None:
        said = {
            "pin": tr("Pinned: it is always told and never fades."),
            "unpin": tr("Not pinned any more."),
            "archive": tr("In the archive: told to nobody."),
            "restore": tr("Restored."),
            "forget": tr("Forgotten."),
            "erase": tr("Erased."),
        }[deed]

        async def send() -> None:
            await self._door.do(deed, name)
            self._page.refresh(name if deed in ("pin", "unpin") else "")
            back = BACK.get(deed)
            self._say(said, partial(self._do, back, name) if back else None)

        self._start(send(), f"{deed} a memory")

    def _undo(self, name: str, number: int) -> None:
        async def send() -> None:
            left = await self._door.undo(name, number)
            self._page.refresh(name if left else "")

        self._start(send(), "take a change back")

    def _unsettle(self, name: str) -> None:
        async def send() -> None:
            await self._door.settle(name, "undo")
            self._page.refresh()

        self._start(send(), "undo a proposal")

    def _bring_back(self, memories: Sequence[str], proposals: Sequence[str] = ()) -> None:
        async def send() -> None:
            await self._door.bring_back(memories, proposals)
            self._page.refresh()

        self._start(send(), "restore memories")

    def _forget_again(self, names: Sequence[str]) -> None:
        async def send() -> None:
            for name in names:
                await self._door.do("forget", name)
            self._page.refresh()

        self._start(send(), "forget memories")

    def _dialog(self, title: str) -> QFileDialog:
        dialog = QFileDialog(self._over, title)
        dialog.setObjectName("memory.file")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return dialog
