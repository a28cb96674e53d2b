"""The queue of proposals: accept, edit, reject and undo what agents propose."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from core.domain.problems import Problem
from core.domain.proposal import Proposal, ProposalKind, ProposalState
from core.domain.skill import SKILL_FILE, SkillSaveConflict, SkillSaved
from core.domain.text import to_utf8
from core.skills.library import LIBRARY_PREFIX, SkillLibrary
from core.skills.merge import diff_three_ways, merge_parts
from core.store.proposal_store import ProposalStore


class ProposalTarget(Protocol):
    """Applies proposals to one kind of target, such as skills."""

    async def apply(self, proposal: Proposal) -> str:
        """Apply the proposal and return an identifier of the result. Applying it twice has no further effect."""
        ...

    async def undo(self, proposal: Proposal) -> None:
        """Revert an applied proposal."""
        ...

    def current_text(self, proposal: Proposal) -> str | None:
        """Return the current text of the target, to show next to the proposed text, or None if it does not exist."""
        ...


class ProposalQueue:
    """Lists proposals and decides each of them once.

    After a crash between applying a proposal and recording its acceptance, the proposal is still pending and can be
    accepted again.
    """

    def __init__(self, book: ProposalStore, targets: Mapping[ProposalKind, ProposalTarget]) -> None:
        self.store = book
        self._targets = targets
        self._deciding: set[str] = set()

    def list(
        self, state: ProposalState | None = "pending", kind: ProposalKind | None = None, session: str = ""
    ) -> tuple[Proposal, ...]:
        """List proposals, oldest first. `state` None lists proposals in every state."""
        return tuple(self.store.find(state=state, target_kind=kind, session=session))

    def get(self, name: str) -> Proposal:
        """Return a proposal by its ID or by an unambiguous prefix."""
        return self.store.get(name)

    def current_text(self, name: str) -> str | None:
        """Return the current text of the file that the proposal would change, or None if it does not exist."""
        proposal = self.store.get(name)
        return self._target_of(proposal).current_text(proposal)

    async def add(self, proposal: Proposal) -> Proposal:
        """Add a proposal to the queue."""
        return await self.store.create(proposal)

    async def accept(self, name: str, text: str | None = None, *, by: str = "user") -> Proposal:
        """Apply the proposal. `text` replaces the proposed text if the user has edited it."""
        proposal = self._claim(name, "pending")
        try:
            edited = proposal if text is None else replace(proposal, text=text)
            result = await self._target_of(proposal).apply(edited)
            return await self.store.resolve(proposal.id, "accepted", by=by, result=result, text=text)
        finally:
            self._deciding.discard(proposal.id)

    async def reject(self, name: str, *, by: str = "user") -> Proposal:
        """Reject the proposal. `undo` reopens it."""
        proposal = self._claim(name, "pending")
        try:
            return await self.store.resolve(proposal.id, "rejected", by=by)
        finally:
            self._deciding.discard(proposal.id)

    async def undo(self, name: str, *, by: str = "user") -> Proposal:
        """Revert an accepted proposal; reopen a rejected or undone one."""
        proposal = self._claim(name, "accepted", "rejected", "undone")
        try:
            if proposal.state != "accepted":
                return await self.store.resolve(proposal.id, "pending", by=by)
            await self._target_of(proposal).undo(proposal)
            return await self.store.resolve(proposal.id, "undone", by=by, result=proposal.result)
        finally:
            self._deciding.discard(proposal.id)

    async def undo_session(self, session: str, excluded: Collection[str]) -> tuple[Proposal, ...]:
        """Undo the accepted skill changes of a session, newest first, and return their proposals.

        Skip the proposals with the IDs in `excluded`, and changes that edits outside the session build on.
        """
        skills, undone = self._targets["skill"], []
        assert isinstance(skills, SkillProposals)
        accepted = self.store.find(state="accepted", target_kind="skill", session=session)
        for proposal in sorted(accepted, key=lambda proposal: proposal.resolved_at, reverse=True):
            with suppress(Problem):
                if proposal.id not in excluded and skills.can_undo_alone(proposal):
                    undone.append(await self.undo(proposal.id))
        return tuple(undone)

    async def reopen(self, name: str) -> None:
        """Make a rejected proposal pending again, or accept an undone proposal again."""
        was_kept = self.store.get(name).state == "undone"
        opened = await self.undo(name)
        if was_kept:
            await self.accept(opened.id)

    def _claim(self, name: str, *states: ProposalState) -> Proposal:
        proposal = self.store.get(name)
        if proposal.state not in states or proposal.id in self._deciding:
            why = (
                "Another action on it is in progress." if proposal.id in self._deciding else f"It is {proposal.state}."
            )
            do = "Undo it first." if proposal.state != "pending" else ""
            raise Problem(f"This is not possible for the proposal {proposal.id}.", why, do)
        self._deciding.add(proposal.id)
        return proposal

    def _target_of(self, proposal: Proposal) -> ProposalTarget:
        target = self._targets.get(proposal.target_kind)
        if target is None:
            raise Problem(f"Proposals for a {proposal.target_kind} cannot be applied.", "", "")
        return target


class SkillProposals:
    """Applies proposals to skills. Accepting saves a new version; undoing saves the previous version again."""

    def __init__(self, library: SkillLibrary) -> None:
        self._library = library

    async def apply(self, proposal: Proposal) -> str:
        key = (
            proposal.target
            if "/" in proposal.target or ":" in proposal.target
            else f"{LIBRARY_PREFIX}{proposal.target}"
        )
        if proposal.action == "archive":
            await self._library.archive(key)
            return key
        if proposal.action == "create" and self._library.latest_version(key):
            if self._library.text(key) == proposal.text:
                await self._library.archive(key, False)  # Undoing the proposal had archived the skill.
                return f"{key} {self._library.latest_version(key)}"
            do = "Edit the proposal and give it another name, or reject it."
            raise Problem(f"A skill {key[len(LIBRARY_PREFIX) :]!r} exists already.", "Nothing was overwritten.", do)
        path = proposal.path or SKILL_FILE
        if path == SKILL_FILE:
            return _version_of(await self._save_merged(proposal, key, proposal.text, proposal.base_version))
        head = await self._library.save_disk_changes(key)
        if self._body(key, path, head) not in (self._body(key, path, proposal.base_version), proposal.text):
            raise _conflict()
        files = {path: to_utf8(proposal.text)}
        return _version_of(await self._save(proposal, key, self._library.text(key, head), head, files))

    async def undo(self, proposal: Proposal) -> None:
        key, _, number = proposal.result.partition(" ")
        if proposal.action == "archive":
            await self._library.archive(key, False)
            return
        if proposal.action == "create":
            await self._library.archive(key)
            return
        applied, head = int(number), await self._library.save_disk_changes(key)
        why = f"undoes the proposal {proposal.id}"
        if head == applied:
            await self._library.restore(key, applied - 1, reason=why)
            return
        path = proposal.path or SKILL_FILE
        texts = [self._body(key, path, version) for version in (applied, head, applied - 1)]
        text = merge_parts(diff_three_ways(*texts))
        if text is None:
            do = "Look at the diff and revert the change by hand."
            raise Problem("This cannot be undone automatically.", "The same lines have been changed since.", do)
        own = {} if path == SKILL_FILE else {path: text.encode()}
        main = text if path == SKILL_FILE else self._library.text(key)
        _version_of(await self._library.save(key, main, own, head, reason=why))

    def current_text(self, proposal: Proposal) -> str | None:
        key = (
            proposal.target
            if "/" in proposal.target or ":" in proposal.target
            else f"{LIBRARY_PREFIX}{proposal.target}"
        )
        try:
            return self._library.body(key, proposal.path or SKILL_FILE).decode("utf-8", "replace")
        except Problem:
            return None

    def can_undo_alone(self, proposal: Proposal) -> bool:
        """Return whether all later versions of the skill come from the session that made the proposal."""
        key, _, number = proposal.result.partition(" ")
        if not number:  # The proposal archived the skill, which creates no version.
            return False
        versions = self._library.open(key).versions
        own_digests = {
            version.digest
            for version in versions
            if version.number < int(number) or version.session == proposal.session
        }
        return all(version.digest in own_digests for version in versions)

    async def _save_merged(self, proposal: Proposal, key: str, text: str, base: int) -> SkillSaved | SkillSaveConflict:
        """Save `text` as the next version after `base`. If `base` is outdated, merge into the latest version.

        Return the conflict, without saving, if the merge fails.
        """
        result = await self._save(proposal, key, text, base)
        if isinstance(result, SkillSaveConflict) and result.theirs == text:
            return SkillSaved(result.key, result.latest.number, unchanged=True)
        if isinstance(result, SkillSaveConflict) and result.merged is not None and base:
            return await self._save(proposal, result.key, result.merged, result.latest.number)
        return result

    async def _save(
        self, proposal: Proposal, key: str, text: str, base: int, files: Mapping[str, bytes] | None = None
    ) -> SkillSaved | SkillSaveConflict:
        """Save a version, recording the proposal's author, reason and session."""
        author, reason, session = proposal.author, proposal.reason, proposal.session
        return await self._library.save(key, text, files, base, author=author, reason=reason, session=session)

    def _body(self, key: str, path: str, version: int) -> str:
        try:
            return self._library.body(key, path, version).decode("utf-8", "replace")
        except Problem:
            return ""


def _version_of(saved: SkillSaved | SkillSaveConflict) -> str:
    """Return the skill's key and the number of the saved version, as `KEY NUMBER`. Raise Problem on a conflict."""
    if isinstance(saved, SkillSaveConflict):
        raise _conflict()
    return f"{saved.key} {saved.version}"


def _conflict() -> Problem:
    do = "Compare both, edit the proposal, then accept it."
    return Problem("The same lines of the skill have been changed since.", "Nothing was overwritten.", do)
