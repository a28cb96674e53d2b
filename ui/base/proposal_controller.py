"""The calls with which a page lists, compares, accepts and rejects the proposals of one kind, and undoes decisions."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.domain.proposal import Proposal, ProposalKind
from ui.base.bridge import Bridge

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


class ProposalController:
    """Handles proposals for skills or for memories. When a method returns, its change is stored durably."""

    def __init__(self, bridge: Bridge, kind: ProposalKind) -> None:
        self._bridge = bridge
        self._kind = kind

    async def open_proposals(self) -> Sequence[Proposal]:
        """Return the open proposals, oldest first."""

        async def read(engine: "Engine") -> Sequence[Proposal]:
            return await asyncio.to_thread(engine.proposals.list, "pending", self._kind)

        return await self._bridge.ask(read)

    async def current_text(self, proposal: str) -> str | None:
        """Return the text that a proposal would replace; None if it would add a new item."""

        async def read(engine: "Engine") -> str | None:
            return engine.proposals.current_text(proposal)

        return await self._bridge.ask(read)

    async def accept_proposal(self, proposal: str, text: str | None = None) -> Proposal:
        """Accept a proposal. `text` is the proposed text as the user edited it; None if it is unchanged."""
        return await self._bridge.ask(lambda engine: engine.proposals.accept(proposal, text))

    async def reject_proposal(self, proposal: str) -> Proposal:
        return await self._bridge.ask(lambda engine: engine.proposals.reject(proposal))

    async def undo_decision(self, proposal: str) -> Proposal:
        """Undo the acceptance or rejection of a proposal, so that it is pending again."""

        async def reopen(engine: "Engine") -> Proposal:
            undone = await engine.proposals.undo(proposal)
            return undone if undone.state == "pending" else await engine.proposals.undo(proposal)

        return await self._bridge.ask(reopen)
