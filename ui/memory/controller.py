"""The calls of the Memory page to the engine. They run on the engine's thread, and take and return plain values."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from core.domain.memory import MemoryKind, MemoryScope
from ui.base.bridge import Bridge
from ui.base.proposal_controller import ProposalController

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.services.memory_results import (
        ForgetResult,
        LearnedDay,
        MemoryDetails,
        MemoryListing,
        TidyResult,
    )

MAX_LISTED: Final = 3_000  # memories in the list at most; the search also finds older ones


class MemoryAction(StrEnum):
    """Actions on a memory that need no input."""

    PIN = "pin"
    UNPIN = "unpin"
    RATE_HELPFUL = "rate_helpful"
    RATE_UNHELPFUL = "rate_unhelpful"
    REMOVE_RATING = "remove_rating"
    ARCHIVE = "archive"
    RESTORE = "restore"  # an archived or forgotten memory
    FORGET = "forget"
    ERASE = "erase"  # delete a forgotten memory permanently


class MemoryInput(NamedTuple):
    """What the user entered for a memory. If `fields` is None, the fields of the memory stay unchanged."""

    text: str
    kind: MemoryKind
    scope: MemoryScope
    scope_id: str
    fields: dict[str, str] | None
    tags: tuple[str, ...] = ()
    expires: str = ""


class AddedMemory(NamedTuple):
    """The result of adding a memory.

    If an equal memory existed, it was reinforced, and `change` is the number of this change; otherwise, `change` is 0.
    `conflicts` is the number of memories that the new one contradicts.
    """

    memory_id: str
    change: int
    conflicts: int


class MemoryController(ProposalController):
    """Calls the engine's memory service. When a method returns, its change is stored durably."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge, "memory")

    async def list_memories(self) -> "Sequence[MemoryListing]":
        """Return the newest memories, including archived and forgotten ones."""
        return await self._bridge.ask(lambda engine: engine.memory.list_memories(status=None, limit=MAX_LISTED))

    async def search(self, text: str) -> "Sequence[MemoryListing]":
        return await self._bridge.ask(lambda engine: engine.memory.find(text, limit=100))

    async def details(self, name: str) -> "MemoryDetails":
        return await self._bridge.ask(lambda engine: engine.memory.show(name))

    async def add(self, entered: MemoryInput) -> AddedMemory:
        async def add(engine: "Engine") -> AddedMemory:
            saved = await engine.memory.add(
                entered.text,
                entered.kind,
                scope=entered.scope,
                scope_id=entered.scope_id,
                parts=entered.fields,
                tags=entered.tags,
                expires=entered.expires,
            )
            return AddedMemory(
                memory_id=saved.memory.id,
                change=0 if saved.did == "created" else saved.memory.version,
                conflicts=len(saved.conflicts),
            )

        return await self._bridge.ask(add)

    async def edit(self, name: str, entered: MemoryInput, base: int) -> int:
        """Edit a memory, starting from its version `base`, and return the number of the change."""

        async def edit(engine: "Engine") -> int:
            edited = await engine.memory.edit(
                name,
                entered.text,
                base=base,
                kind=entered.kind,
                scope=entered.scope,
                scope_id=entered.scope_id,
                parts=entered.fields,
                tags=entered.tags,
                expires=entered.expires,
            )
            return edited.version

        return await self._bridge.ask(edit)

    async def run_action(self, action: MemoryAction, name: str) -> None:
        async def act(engine: "Engine") -> None:
            match action:
                case MemoryAction.PIN:
                    await engine.memory.pin(name, True)
                case MemoryAction.UNPIN:
                    await engine.memory.pin(name, False)
                case MemoryAction.RATE_HELPFUL:
                    await engine.memory.mark(name, user_rating="good")
                case MemoryAction.RATE_UNHELPFUL:
                    await engine.memory.mark(name, user_rating="bad")
                case MemoryAction.REMOVE_RATING:
                    await engine.memory.mark(name, user_rating="")
                case MemoryAction.ARCHIVE:
                    await engine.memory.archive(name)
                case MemoryAction.RESTORE:
                    await engine.memory.restore(name)
                case MemoryAction.FORGET:
                    await engine.memory.forget(name)
                case MemoryAction.ERASE:
                    await engine.memory.erase(name)

        await self._bridge.ask(act)

    async def undo(self, name: str, number: int) -> int:
        """Undo a change, and return the number of the new change that this creates.

        0 if the memory no longer exists.
        """
        undone = await self._bridge.ask(lambda engine: engine.memory.undo(name, number))
        return undone.version if undone else 0

    async def forget_all(self, *, session: str = "", folder: str = "") -> "ForgetResult":
        """Forget what was learned from a session or, if `session` is empty, for a folder."""
        if session:
            return await self._bridge.ask(lambda engine: engine.memory.forget_session(session))
        return await self._bridge.ask(lambda engine: engine.memory.forget_folder(folder))

    async def undo_forget(self, memories: Sequence[str], proposals: Sequence[str]) -> None:
        await self._bridge.ask(lambda engine: engine.memory.undo_forget(memories, proposals))

    async def learned_by_day(self) -> "Sequence[LearnedDay]":
        return await self._bridge.ask(lambda engine: engine.memory.learned_by_day())

    async def tidy(self) -> "TidyResult":
        """Archive decayed memories and derive lessons."""
        return await self._bridge.ask(lambda engine: engine.memory.tidy())

    async def export(self, target: str) -> None:
        async def act(engine: "Engine") -> None:
            text = await engine.memory.export(include_archived=True)
            await asyncio.to_thread(Path(target).write_text, text, "utf-8")

        await self._bridge.ask(act)

    async def import_file(self, source: str) -> list[str]:
        """Import memories from a file, and return the IDs of those that are new."""

        async def act(engine: "Engine") -> list[str]:
            imported = await engine.memory.import_file(Path(source))
            return [result.memory.id for result in imported.saved if result.did == "created"]

        return await self._bridge.ask(act)
