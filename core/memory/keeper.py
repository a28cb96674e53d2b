"""What keeping a proposal about memory does, and how it is taken back."""

import json

from core.domain.memory import Author, Memory, taken_back
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.memory.keep import Source
from core.memory.memory import Memories, edited
from core.memory.portable import proposed


class MemoryKeeper:
    """The result of a proposal names the changes that it made, as `memory:number`, one after the other."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def keep(self, wanted: Proposal) -> str:
        """Do it; what it made. Done twice it makes nothing twice."""
        source = Source(_author(wanted), wanted.session, 0, f"{wanted.reason} (proposal {wanted.id})".strip())
        if done := self._done(wanted, source):
            return done
        if wanted.what == "create":
            kept = await self._memories.keep(proposed(wanted.text, wanted.about), source)
            return f"{kept.memory.id}:{1 if kept.did == 'kept' else kept.memory.version}"
        target = self._memories.memory(wanted.target)
        if wanted.what == "archive":
            return _made(await self._memories.archive(target.id, by=source))
        if wanted.base and target.version != wanted.base and target.said.text != self._base_text(wanted):
            do = "Look at both, edit the proposal, then keep it."
            raise Problem("This memory was changed since.", f"It says now: {target.said.text}", do)
        made = [await self._memories.edit(target.id, edited(target, wanted.text), by=source)]
        for other in json.loads(wanted.about or "{}").get("with", ()):
            made += [await self._memories.archive(other, by=source)]
        return " ".join(map(_made, made))

    async def undo(self, wanted: Proposal) -> None:
        """Take back every change that it made."""
        for made in reversed(wanted.result.split()):
            name, _, number = made.partition(":")
            await self._memories.undo(name, int(number))

    def before(self, wanted: Proposal) -> str | None:
        """What stands there now; None for nothing."""
        if not wanted.target:
            return None
        try:
            return self._memories.memory(wanted.target).said.text
        except Problem:
            return None

    def _done(self, wanted: Proposal, source: Source) -> str:
        """What it made already, where a crash came between the act and the word."""
        near = self._memories.find(wanted.text, most=5) if wanted.what == "create" else []
        for one in near:
            changes = self._memories.changes(one.memory.id)
            back = taken_back(changes)
            for change in changes:
                if change.why == source.why and change.did in {"kept", "seen again"} and change.number not in back:
                    return f"{one.memory.id}:{change.number}"
        return ""

    def _base_text(self, wanted: Proposal) -> str:
        said = [one.said.text for one in self._memories.changes(wanted.target)[: wanted.base] if one.said]
        return said[-1] if said else ""


def _author(wanted: Proposal) -> Author:
    return "review" if wanted.by == "review" else "agent"


def _made(memory: Memory) -> str:
    return f"{memory.id}:{memory.version}"
