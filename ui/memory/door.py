"""What the page of memories asks of the engine: plain values in and out, and nothing waits in the window's thread."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from core.domain.memory import Kind, Reach
from ui.bridge import Bridge
from ui.proposals_door import ProposalsDoor

if TYPE_CHECKING:
    from core.engine.engine import Engine
    from core.engine.memory import Forgotten, Listed, Shown

MOST: Final = 3_000  # listed at once; the search finds the others


class Written(NamedTuple):
    """What a person writes of a memory. `parts` are its fields; None leaves them as they are."""

    text: str
    kind: Kind
    reach: Reach
    place: str
    parts: dict[str, str] | None


class Added(NamedTuple):
    """What came of it: `again` is the change of a known one, 0 for a new one; `others` say otherwise."""

    name: str
    again: int
    others: int


class Door(ProposalsDoor):
    """Every wish is durable when its method returns."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge, "memory")

    async def listed(self) -> "Sequence[Listed]":
        """The newest, those in the archive and the forgotten too."""
        return await self._bridge.ask(lambda engine: engine.memory.listed(standing=None, limit=MOST))

    async def find(self, text: str) -> "Sequence[Listed]":
        return await self._bridge.ask(lambda engine: engine.memory.find(text, limit=100))

    async def show(self, name: str) -> "Shown":
        return await self._bridge.ask(lambda engine: engine.memory.show(name))

    async def add(self, written: Written) -> Added:
        text, kind, reach, place, parts = written

        async def add(engine: "Engine") -> Added:
            kept = await engine.memory.add(text, kind, reach=reach, place=place, parts=parts)
            return Added(kept.memory.id, 0 if kept.did == "kept" else kept.memory.version, len(kept.others))

        return await self._bridge.ask(add)

    async def edit(self, name: str, written: Written, base: int) -> int:
        """The number of the change."""
        text, kind, reach, place, parts = written
        edited = await self._bridge.ask(
            lambda engine: engine.memory.edit(name, text, base=base, kind=kind, reach=reach, place=place, parts=parts)
        )
        return edited.version

    async def do(self, deed: str, name: str) -> None:
        """Pin, unpin, archive, restore, forget or erase."""

        async def act(engine: "Engine") -> None:
            match deed:
                case "pin" | "unpin":
                    await engine.memory.pin(name, deed == "pin")
                case "archive":
                    await engine.memory.archive(name)
                case "restore":
                    await engine.memory.restore(name)
                case "forget":
                    await engine.memory.forget(name)
                case _:
                    await engine.memory.erase(name)

        await self._bridge.ask(act)

    async def undo(self, name: str, number: int) -> int:
        """Take a change back; the number of that change in its turn, 0 where nothing is left of the memory."""
        left = await self._bridge.ask(lambda engine: engine.memory.undo(name, number))
        return left.version if left else 0

    async def forget_all(self, *, session: str = "", folder: str = "") -> "Forgotten":
        """What was learnt from a session, or for a folder."""
        if session:
            return await self._bridge.ask(lambda engine: engine.memory.forget_session(session))
        return await self._bridge.ask(lambda engine: engine.memory.forget_folder(folder))

    async def bring_back(self, memories: Sequence[str], proposals: Sequence[str]) -> None:
        await self._bridge.ask(lambda engine: engine.memory.bring_back(memories, proposals))

    async def tidy(self) -> tuple[Sequence[str], int]:
        """The ids of those that went to the archive, and how many proposals were made."""

        async def act(engine: "Engine") -> tuple[Sequence[str], int]:
            tidied = await engine.memory.tidy()
            return tidied.archived, len(tidied.proposed)

        return await self._bridge.ask(act)

    async def export(self, place: str) -> None:
        async def act(engine: "Engine") -> None:
            text = await engine.memory.export(all_of_them=True)
            await asyncio.to_thread(Path(place).write_text, text, "utf-8")

        await self._bridge.ask(act)

    async def take_in(self, place: str) -> list[str]:
        """Out of a file; the ids of those that were not known."""

        async def act(engine: "Engine") -> list[str]:
            return [one.memory.id for one in await engine.memory.take_in(Path(place)) if one.did == "kept"]

        return await self._bridge.ask(act)
