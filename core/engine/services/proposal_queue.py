"""The queue of proposals: accept, edit, reject and undo what agents propose."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Protocol

from core.domain.problems import Problem
from core.domain.proposal import Proposal, ProposalKind, ProposalResult, ProposalState
from core.store.proposal_store import ProposalStore

RATED_BAD = "The run that it comes from was rated as bad since."


class ProposalTarget(Protocol):
    """Applies proposals to one kind of target, such as memories."""

    async def apply(self, proposal: Proposal) -> ProposalResult:
        """Apply the proposal and return what changed. Applying it twice has no further effect."""
        ...

    async def undo(self, proposal: Proposal) -> None:
        """Revert an applied proposal."""
        ...

    def rating_change(self, proposal: Proposal) -> str:
        """Return, as a sentence, how the ratings that the proposal is based on have changed since; "" if not."""
        ...

    def current_text(self, proposal: Proposal) -> str | None:
        """Return the current text of the target, to show next to the proposed text, or None if it does not exist."""
        ...


class SkillTarget(ProposalTarget, Protocol):
    """Applies proposals to skills."""

    def can_undo_alone(self, proposal: Proposal) -> bool:
        """Return whether undoing the proposal reverts no edits from outside its session."""
        ...


class ProposalQueue:
    """Lists proposals and decides each of them once. Pending ones are listed with what their runs are rated now.

    After a crash between applying a proposal and recording its acceptance, the proposal is still pending and can be
    accepted again.
    """

    def __init__(self, store: ProposalStore, *, skills: SkillTarget, memories: ProposalTarget) -> None:
        self._store = store
        self._skills = skills
        self._memories = memories
        self._deciding: set[str] = set()

    def list(
        self, state: ProposalState | None = "pending", kind: ProposalKind | None = None, session: str = ""
    ) -> tuple[Proposal, ...]:
        """List proposals, oldest first. `state` None lists proposals in every state."""
        return tuple(map(self._updated, self._store.find(state=state, target_kind=kind, session=session)))

    def get(self, name: str) -> Proposal:
        """Return a proposal by its ID or by an unambiguous prefix."""
        return self._updated(self._store.get(name))

    def current_text(self, name: str) -> str | None:
        """Return the current text of the file that the proposal would change, or None if it does not exist."""
        proposal = self._store.get(name)
        return self._target_of(proposal).current_text(proposal)

    async def add(self, proposal: Proposal) -> Proposal:
        """Add a proposal to the queue."""
        return await self._store.create(proposal)

    async def accept(self, name: str, text: str | None = None, *, by: str = "user") -> Proposal:
        """Apply the proposal. `text` replaces the proposed text if the user has edited it."""
        with self._claim(name, "pending") as proposal:
            edited = proposal if text is None else replace(proposal, text=text)
            result = await self._target_of(proposal).apply(edited)
            return await self._store.resolve(proposal.id, "accepted", by=by, result=result, text=text)

    async def reject(self, name: str, *, by: str = "user") -> Proposal:
        """Reject the proposal. `undo` reopens it."""
        with self._claim(name, "pending") as proposal:
            return await self._store.resolve(proposal.id, "rejected", by=by)

    async def undo(self, name: str, *, by: str = "user") -> Proposal:
        """Revert an accepted proposal; reopen a rejected or undone one."""
        with self._claim(name, "accepted", "rejected", "undone") as proposal:
            if proposal.state != "accepted":
                return await self._store.resolve(proposal.id, "pending", by=by)
            await self._target_of(proposal).undo(proposal)
            return await self._store.resolve(proposal.id, "undone", by=by, result=proposal.result)

    async def undo_session(self, session: str, excluded: Collection[str]) -> tuple[Proposal, ...]:
        """Undo the accepted skill changes of a session, newest first, and return their proposals.

        Skip the proposals with the IDs in `excluded`, and changes that edits outside the session build on.
        """
        accepted = self._store.find(state="accepted", target_kind="skill", session=session)
        undone = []
        for proposal in sorted(accepted, key=lambda proposal: proposal.resolved_at, reverse=True):
            with suppress(Problem):
                if proposal.id not in excluded and self._skills.can_undo_alone(proposal):
                    undone.append(await self.undo(proposal.id))
        return tuple(undone)

    async def reopen(self, name: str) -> None:
        """Make a rejected proposal pending again, or accept an undone proposal again."""
        was_accepted = self._store.get(name).state == "undone"
        pending = await self.undo(name)
        if was_accepted:
            await self.accept(pending.id)

    def _updated(self, proposal: Proposal) -> Proposal:
        """Return a proposal; the reason of a pending one says if ratings have changed since it was made."""
        if proposal.state != "pending":
            return proposal
        change = self._target_of(proposal).rating_change(proposal)
        if not change and self._store.is_rated_bad_since(proposal):
            change = RATED_BAD
        return replace(proposal, reason=" ".join(filter(None, (proposal.reason, change))))

    @contextmanager
    def _claim(self, name: str, *states: ProposalState) -> Iterator[Proposal]:
        """Yield a proposal that no other decision can claim meanwhile. Raise Problem if it is in none of `states`."""
        proposal = self._store.get(name)
        is_claimed = proposal.id in self._deciding
        if is_claimed or proposal.state not in states:
            cause = "Another action on it is in progress." if is_claimed else f"It is {proposal.state}."
            fix = "Undo it first." if proposal.state != "pending" else ""
            raise Problem(f"This is not possible for the proposal {proposal.id}.", cause, fix)
        self._deciding.add(proposal.id)
        try:
            yield proposal
        finally:
            self._deciding.discard(proposal.id)

    def _target_of(self, proposal: Proposal) -> ProposalTarget:
        match proposal.target_kind:
            case "skill":
                return self._skills
            case "memory":
                return self._memories
