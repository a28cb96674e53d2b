"""Lets a page list, compare, accept, reject and undo the proposals of one kind."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.domain.proposal import Proposal, ProposalKind
from ui.base.bridge import Bridge

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


class ProposalController:
    """Handles proposals of skills or of memories; every change is durable when its method returns."""

    def __init__(self, bridge: Bridge, kind: ProposalKind) -> None:
        self._bridge = bridge
        self._of = kind

    async def open_proposals(self) -> Sequence[Proposal]:
        """Return the open proposals, oldest first."""

        async def look(engine: "Engine") -> Sequence[Proposal]:
            return await asyncio.to_thread(engine.proposals.list, "pending", self._of)

        return await self._bridge.ask(look)

    async def current_text(self, proposal: str) -> str | None:
        """Return the current text that the proposal would replace, or None if it would add a new item."""

        async def look(engine: "Engine") -> str | None:
            return engine.proposals.current_text(proposal)

        return await self._bridge.ask(look)

    async def resolve(self, proposal: str, how: str, text: str | None = None) -> Proposal:
        """Keep a proposal (with `text` if the user edited it), reject it, or undo that decision, depending on `how`."""

        async def act(engine: "Engine") -> Proposal:
            match how:
                case "keep":
                    return await engine.proposals.accept(proposal, text)
                case "reject":
                    return await engine.proposals.reject(proposal)
                case _:
                    return await engine.proposals.undo(proposal)

        return await self._bridge.ask(act)
