"""The queue of proposals: accept, edit, reject and undo what agents propose."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from core.domain.problems import Problem
from core.domain.proposal import Proposal, ProposalKind, ProposalState
from core.domain.skill import SKILL_FILE, SkillSaveConflict, SkillSaved
from core.skills.library import LIBRARY_PREFIX, SkillLibrary
from core.skills.merge import diff_three_ways, merge_parts
from core.store.proposal_store import ProposalStore


class ProposalTarget(Protocol):
    """Applies proposals to one kind of target, such as skills."""

    async def apply(self, wanted: Proposal) -> str:
        """Apply the proposal and return an identifier of the result. Applying it twice has no further effect."""
        ...

    async def undo(self, wanted: Proposal) -> None:
        """Revert an applied proposal."""
        ...

    def current_text(self, wanted: Proposal) -> str | None:
        """Return the current text of the target, to show next to the proposed text, or None if it does not exist."""
        ...


class ProposalQueue:
    """Lists proposals and decides each of them once.

    After a crash between applying a proposal and recording its acceptance, the proposal is still pending and can be
    accepted again.
    """

    def __init__(self, book: ProposalStore, keepers: Mapping[ProposalKind, ProposalTarget]) -> None:
        self.store = book
        self._keepers = keepers
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
        """Return the current text that the proposal would change, or None if the target does not exist."""
        wanted = self.store.get(name)
        return self._keeper(wanted).current_text(wanted)

    async def add(self, wanted: Proposal) -> Proposal:
        """Add a proposal to the queue."""
        return await self.store.create(wanted)

    async def accept(self, name: str, text: str | None = None, *, by: str = "user") -> Proposal:
        """Apply the proposal. `text` replaces the proposed text if the user has edited it."""
        wanted = self._claim(name, "pending")
        try:
            edited = wanted if text is None else replace(wanted, text=text)
            result = await self._keeper(wanted).apply(edited)
            return await self.store.resolve(wanted.id, "accepted", by=by, result=result, text=text)
        finally:
            self._deciding.discard(wanted.id)

    async def reject(self, name: str, *, by: str = "user") -> Proposal:
        """Reject the proposal. `undo` reopens it."""
        wanted = self._claim(name, "pending")
        try:
            return await self.store.resolve(wanted.id, "rejected", by=by)
        finally:
            self._deciding.discard(wanted.id)

    async def undo(self, name: str, *, by: str = "user") -> Proposal:
        """Revert an accepted proposal; reopen a rejected or undone one."""
        wanted = self._claim(name, "accepted", "rejected", "undone")
        try:
            if wanted.state != "accepted":
                return await self.store.resolve(wanted.id, "pending", by=by)
            await self._keeper(wanted).undo(wanted)
            return await self.store.resolve(wanted.id, "undone", by=by, result=wanted.result)
        finally:
            self._deciding.discard(wanted.id)

    async def undo_session(self, session: str, excluded: Collection[str]) -> tuple[Proposal, ...]:
        """Undo the accepted skill changes of a session, newest first, and return their proposals.

        Proposals in `excluded`, and changes that later edits build on or conflict with, are skipped.
        """
        keeper, undone = self._keepers["skill"], []
        assert isinstance(keeper, SkillProposals)
        kept = self.store.find(state="accepted", target_kind="skill", session=session)
        for one in sorted(kept, key=lambda one: one.resolved_at, reverse=True):
            with suppress(Problem):
                if one.id not in excluded and keeper.can_undo_alone(one):
                    undone.append(await self.undo(one.id))
        return tuple(undone)

    async def reopen(self, name: str) -> None:
        """Reopen a rejected proposal, or accept an undone proposal again."""
        was_kept = self.store.get(name).state == "undone"
        opened = await self.undo(name)
        if was_kept:
            await self.accept(opened.id)

    def _claim(self, name: str, *states: ProposalState) -> Proposal:
        wanted = self.store.get(name)
        if wanted.state not in states or wanted.id in self._deciding:
            why = "Another action on it is in progress." if wanted.id in self._deciding else f"It is {wanted.state}."
            do = "Undo it first." if wanted.state != "pending" else ""
            raise Problem(f"This is not possible for the proposal {wanted.id}.", why, do)
        self._deciding.add(wanted.id)
        return wanted

    def _keeper(self, wanted: Proposal) -> ProposalTarget:
        keeper = self._keepers.get(wanted.target_kind)
        if keeper is None:
            raise Problem(f"Proposals for a {wanted.target_kind} cannot be applied.", "", "")
        return keeper


class SkillProposals:
    """Applies proposals to skills. Accepting saves a new version; undoing saves the previous version again."""

    def __init__(self, library: SkillLibrary) -> None:
        self._library = library

    async def apply(self, wanted: Proposal) -> str:
        key = wanted.target if "/" in wanted.target or ":" in wanted.target else f"{LIBRARY_PREFIX}{wanted.target}"
        if wanted.action == "archive":
            await self._library.archive(key)
            return key
        if wanted.action == "create" and self._library.latest_version(key):
            if self._library.text(key) == wanted.text:
                await self._library.archive(key, False)  # The proposal was accepted and undone before.
                return f"{key} {self._library.latest_version(key)}"
            do = "Edit the proposal and give it another name, or reject it."
            raise Problem(f"A skill {key[len(LIBRARY_PREFIX) :]!r} exists already.", "Nothing was overwritten.", do)
        path = wanted.path or SKILL_FILE
        if path == SKILL_FILE:
            return _version_of(await self._save_merged(wanted, key, wanted.text, wanted.base_version))
        head = await self._library.save_disk_changes(key)
        if self._body(key, path, head) not in (self._body(key, path, wanted.base_version), wanted.text):
            raise _conflict()
        files = {path: wanted.text.encode("utf-8", "replace")}
        return _version_of(await self._save(wanted, key, self._library.text(key, head), head, files))

    async def undo(self, wanted: Proposal) -> None:
        key, _, number = wanted.result.partition(" ")
        if wanted.action == "archive":
            await self._library.archive(key, False)
            return
        if wanted.action == "create":
            await self._library.archive(key)
            return
        made, head = int(number), await self._library.save_disk_changes(key)
        why = f"undoes the proposal {wanted.id}"
        if head == made:
            await self._library.restore(key, made - 1, reason=why)
            return
        path = wanted.path or SKILL_FILE
        texts = [self._body(key, path, version) for version in (made, head, made - 1)]
        text = merge_parts(diff_three_ways(*texts))
        if text is None:
            do = "Look at the diff and revert the change by hand."
            raise Problem("This cannot be undone automatically.", "The same lines have been changed since.", do)
        own = {} if path == SKILL_FILE else {path: text.encode()}
        main = text if path == SKILL_FILE else self._library.text(key)
        _version_of(await self._library.save(key, main, own, head, reason=why))

    def current_text(self, wanted: Proposal) -> str | None:
        key = wanted.target if "/" in wanted.target or ":" in wanted.target else f"{LIBRARY_PREFIX}{wanted.target}"
        try:
            return self._library.body(key, wanted.path or SKILL_FILE).decode("utf-8", "replace")
        except Problem:
            return None

    def can_undo_alone(self, wanted: Proposal) -> bool:
        """Return whether all later versions of the skill come from the session that made the proposal."""
        key, _, number = wanted.result.partition(" ")
        if not number:  # The proposal did not create a version.
            return False
        versions = self._library.open(key).versions
        own = {one.digest for one in versions if one.number < int(number) or one.session == wanted.session}
        return all(one.digest in own for one in versions)

    async def _save_merged(self, wanted: Proposal, key: str, text: str, base: int) -> SkillSaved | SkillSaveConflict:
        """Save as the next version after `base`, or merge into the latest version if `base` is outdated."""
        done = await self._save(wanted, key, text, base)
        if isinstance(done, SkillSaveConflict) and done.theirs == text:
            return SkillSaved(done.key, done.latest.number, unchanged=True)
        if isinstance(done, SkillSaveConflict) and done.merged is not None and base:
            return await self._save(wanted, done.key, done.merged, done.latest.number)
        return done

    async def _save(
        self, wanted: Proposal, key: str, text: str, base: int, files: Mapping[str, bytes] | None = None
    ) -> SkillSaved | SkillSaveConflict:
        """Save a version, recording the proposal's author, reason and session."""
        by, why, session = wanted.author, wanted.reason, wanted.session
        return await self._library.save(key, text, files, base, author=by, reason=why, session=session)

    def _body(self, key: str, path: str, version: int) -> str:
        try:
            return self._library.body(key, path, version).decode("utf-8", "replace")
        except Problem:
            return ""


def _version_of(saved: SkillSaved | SkillSaveConflict) -> str:
    """Return the key and the version number. Raise Problem on a conflict."""
    if isinstance(saved, SkillSaveConflict):
        raise _conflict()
    return f"{saved.key} {saved.version}"


def _conflict() -> Problem:
    do = "Compare both, edit the proposal, then accept it."
    return Problem("The same lines of the skill have been changed since.", "Nothing was overwritten.", do)
