"""Applies and undoes accepted proposals about skills."""

from collections.abc import Mapping

from core.domain.problems import Problem
from core.domain.proposal import Proposal, SkillResult
from core.domain.skill import SKILL_FILE, SkillSaveConflict, SkillSaved
from core.domain.text import to_utf8
from core.skills.library import LIBRARY_PREFIX, SkillLibrary
from core.skills.merge import diff_three_ways, merge_parts


class SkillProposals:
    """Applies proposals to skills. Accepting saves a new version; undoing saves the previous version again."""

    def __init__(self, library: SkillLibrary) -> None:
        self._library = library

    async def apply(self, proposal: Proposal) -> SkillResult:
        """Apply a proposal. Raise Problem if the skill was changed on the same lines since it was proposed."""
        key = _key_of(proposal)
        if proposal.action == "archive":
            await self._library.archive(key)
            return SkillResult(key)
        if proposal.action == "create" and (latest := self._library.latest_version(key)):
            return await self._recreate(proposal, key, latest)
        path = proposal.path or SKILL_FILE
        if path == SKILL_FILE:
            return _saved_version(await self._save_merged(proposal, key))
        return await self._apply_to_file(proposal, key, path)

    async def undo(self, proposal: Proposal) -> None:
        """Undo an applied proposal. Raise Problem if the lines that it changed have been changed since."""
        result = _result_of(proposal)
        if proposal.action in {"archive", "create"}:
            await self._library.archive(result.key, proposal.action == "create")
        else:
            await self._undo_version(proposal, result.key, _required_version(result))

    def current_text(self, proposal: Proposal) -> str | None:
        """Return the current text of the file that a proposal would change; None if it does not exist."""
        try:
            return self._library.body(_key_of(proposal), proposal.path or SKILL_FILE).decode("utf-8", "replace")
        except Problem:
            return None

    def rating_change(self, _proposal: Proposal) -> str:
        """Return ""; no proposal about a skill is derived from ratings."""
        return ""

    def can_undo_alone(self, proposal: Proposal) -> bool:
        """Return whether all later versions of the skill come from the session that made the proposal."""
        result = _result_of(proposal)
        if result.version is None:
            return False
        versions = self._library.open(result.key).versions
        own_digests = {
            version.digest
            for version in versions
            if version.number < result.version or version.session == proposal.session
        }
        return all(version.digest in own_digests for version in versions)

    async def _recreate(self, proposal: Proposal, key: str, latest: int) -> SkillResult:
        """Restore a skill that undoing its creation archived. Raise Problem if another skill has its name."""
        if self._library.text(key) != proposal.text:
            name = key.removeprefix(LIBRARY_PREFIX)
            fix = "Edit the proposal and give it another name, or reject it."
            raise Problem(f"A skill {name!r} exists already.", "Nothing was overwritten.", fix)
        await self._library.archive(key, False)
        return SkillResult(key, latest)

    async def _apply_to_file(self, proposal: Proposal, key: str, path: str) -> SkillResult:
        """Write a file other than SKILL.md. Raise Problem if it has changed since the proposal."""
        latest = await self._library.save_disk_changes(key)
        base_text = self._body(key, path, proposal.base_version)
        if self._body(key, path, latest) not in (base_text, proposal.text):
            raise _conflict()
        files = {path: to_utf8(proposal.text)}
        return _saved_version(await self._save(proposal, key, self._library.text(key, latest), latest, files))

    async def _undo_version(self, proposal: Proposal, key: str, applied: int) -> None:
        """Save the version before `applied` again, merged with the changes that were made since."""
        latest = await self._library.save_disk_changes(key)
        reason = f"undoes the proposal {proposal.id}"
        if latest == applied:
            await self._library.restore(key, applied - 1, reason=reason)
            return
        path = proposal.path or SKILL_FILE
        hunks = diff_three_ways(
            base=self._body(key, path, applied),
            yours=self._body(key, path, latest),
            theirs=self._body(key, path, applied - 1),
        )
        merged = merge_parts(hunks)
        if merged is None:
            cause = "The same lines have been changed since."
            fix = "Look at the diff and revert the change by hand."
            raise Problem("This cannot be undone automatically.", cause, fix)
        if path == SKILL_FILE:
            saved = await self._library.save(key, merged, base=latest, reason=reason)
        else:
            files = {path: merged.encode()}
            saved = await self._library.save(key, self._library.text(key), files, latest, reason=reason)
        _saved_version(saved)

    async def _save_merged(self, proposal: Proposal, key: str) -> SkillSaved | SkillSaveConflict:
        """Save the proposed text as the next version. If its base is outdated, merge it into the latest version.

        Return the conflict, without saving, if the merge fails.
        """
        result = await self._save(proposal, key, proposal.text, proposal.base_version)
        if not isinstance(result, SkillSaveConflict):
            return result
        if result.theirs == proposal.text:
            return SkillSaved(result.key, result.latest.number, unchanged=True)
        if result.merged is not None and proposal.base_version:
            return await self._save(proposal, result.key, result.merged, result.latest.number)
        return result

    async def _save(
        self, proposal: Proposal, key: str, text: str, base: int, files: Mapping[str, bytes] | None = None
    ) -> SkillSaved | SkillSaveConflict:
        """Save a version, recording the proposal's author, reason and session."""
        return await self._library.save(
            key,
            text,
            files,
            base,
            author=proposal.author,
            reason=proposal.reason,
            session=proposal.session,
        )

    def _body(self, key: str, path: str, version: int) -> str:
        """Return the text of a file in a version of a skill; empty if it does not exist."""
        try:
            return self._library.body(key, path, version).decode("utf-8", "replace")
        except Problem:
            return ""


def _key_of(proposal: Proposal) -> str:
    """Return the key of the skill to change. A target that is a plain name is a skill of the library."""
    is_key = "/" in proposal.target or ":" in proposal.target
    return proposal.target if is_key else f"{LIBRARY_PREFIX}{proposal.target}"


def _result_of(proposal: Proposal) -> SkillResult:
    if not isinstance(proposal.result, SkillResult):
        raise Problem(f"The proposal {proposal.id} records no changed skill.")
    return proposal.result


def _required_version(result: SkillResult) -> int:
    if result.version is None:
        raise Problem(f"No saved version of the skill {result.key} is recorded.")
    return result.version


def _saved_version(saved: SkillSaved | SkillSaveConflict) -> SkillResult:
    """Return what was saved. Raise Problem on a conflict."""
    if isinstance(saved, SkillSaveConflict):
        raise _conflict()
    return SkillResult(saved.key, saved.version)


def _conflict() -> Problem:
    fix = "Compare both, edit the proposal, then accept it."
    return Problem("The same lines of the skill have been changed since.", "Nothing was overwritten.", fix)
