"""What a page asks of the engine about proposals of one kind: what waits, what stands there now, and a word on it."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.domain.proposal import Of, Proposal
from ui.bridge import Bridge

if TYPE_CHECKING:
    from core.engine.engine import Engine


class ProposalsDoor:
    """Of skills or of memories. Every wish is durable when its method returns."""

    def __init__(self, bridge: Bridge, of: Of) -> None:
        self._bridge = bridge
        self._of = of

    async def proposed(self) -> Sequence[Proposal]:
        """What waits for a word, the oldest first."""

        async def look(engine: "Engine") -> Sequence[Proposal]:
            return await asyncio.to_thread(engine.proposals.list, "open", self._of)

        return await self._bridge.ask(look)

    async def before(self, proposal: str) -> str | None:
        """What stands there now; None for nothing."""

        async def look(engine: "Engine") -> str | None:
            return engine.proposals.before(proposal)

        return await self._bridge.ask(look)

    async def settle(self, proposal: str, how: str, text: str | None = None) -> Proposal:
        """Keep it, with another text if it was edited first; reject it; or undo either."""

        async def act(engine: "Engine") -> Proposal:
            match how:
                case "keep":
                    return await engine.proposals.keep(proposal, text)
                case "reject":
                    return await engine.proposals.reject(proposal)
                case _:
                    return await engine.proposals.undo(proposal)

        return await self._bridge.ask(act)
