"""The operations on skills for the window, the command line and runs, with plain values in and out.

Files are read in threads, so no call blocks the event loop.
"""

import asyncio
import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem
from core.domain.rules import check_rule, new_rule
from core.domain.skill import (
    SKILL_FILE,
    ImportedSkill,
    OfferedSkill,
    OpenSkill,
    SkillFileDiff,
    SkillFinding,
    SkillRow,
    SkillSaveConflict,
    SkillSaved,
    SkillUse,
)
from core.engine.policy.proposed_call import RULE_SUBJECTS
from core.engine.policy.trust import followed_files, pin_files
from core.engine.services.slash_commands import TYPED_COMMAND
from core.skills.library import READ_ONLY_PREFIXES, SkillLibrary
from core.skills.listing import TrustCheck
from core.skills.skill_md import parse_skill
from core.skills.transfer import export_skill, import_skills, preview_import
from core.store.rule_store import RuleStore, new_rule_id
from core.tools.catalogue import TOOLS


@dataclass(frozen=True, slots=True)
class SkillPermission:
    """A permission that a skill requests: calls of this tool that match the pattern."""

    tool: str
    pattern: str

    @property
    def text(self) -> str:
        return f"{self.tool} {self.pattern}"


class SkillOffer(NamedTuple):
    """A skill that a run may use, with its row in the list of skills."""

    skill: OfferedSkill
    row: SkillRow


class SkillService:
    """Operations on skills.

    A skill is identified by its key, as returned by `list`, or by its name. `folder` is the folder in which an agent
    would work.
    """

    def __init__(self, library: SkillLibrary, rule_store: RuleStore) -> None:
        self.library = library
        self._rule_store = rule_store

    async def list(self, folder: Path | None = None) -> tuple[SkillRow, ...]:
        """List every skill in order of precedence, with its state in the folder."""
        real = _resolved(folder)
        return await asyncio.to_thread(self.library.list, real, self._follows(real))

    async def key_of(self, name: str, folder: Path | None = None) -> str:
        """Return the key of the skill that a name refers to."""
        real = _resolved(folder)
        return await asyncio.to_thread(self.library.key_of, name, real, self._follows(real))

    async def open(self, name: str, folder: Path | None = None) -> OpenSkill:
        """Return a skill's text, files, findings and versions. Pass its `base` to `save`."""
        key = await self.key_of(name, folder)
        if self.library.can_write and not key.startswith(READ_ONLY_PREFIXES):
            # Record the files on disk as a version, so that it can be a base.
            await self.library.save_disk_changes(key)
        real = _resolved(folder)
        return await asyncio.to_thread(self.library.open, key, real, self._follows(real))

    async def read_text(self, key: str, version: int = 0) -> str:
        """Return the text of SKILL.md in a version; version 0 is the current state."""
        return await asyncio.to_thread(self.library.text, key, version)

    async def read_file(self, key: str, path: str = SKILL_FILE, version: int = 0) -> bytes:
        """Return the contents of a file in a version; version 0 is the current state."""
        return await asyncio.to_thread(self.library.body, key, path, version)

    def check(self, text: str, files: Collection[str] = (), folder: str = "") -> tuple[SkillFinding, ...]:
        """Return the findings for a text that is being edited. Fast enough to call at each pause in typing."""
        return parse_skill(text, files, folder=folder).findings

    def template(self, name: str, description: str = "") -> str:
        """Return the text of SKILL.md for a new skill, with placeholders to fill in."""
        return self.library.template(name, description) if description else self.library.template(name)

    async def save(
        self, name: str, text: str, files: Mapping[str, bytes | None] | None = None, base: int = 0, *, why: str = ""
    ) -> SkillSaved | SkillSaveConflict:
        """Save the user's edit as the next version after `base`.

        `files` maps the paths of other changed files to their new contents, or to None to delete a file. Return a
        SkillSaveConflict without saving if the skill has changed since `base`. Raise Problem with the line number if
        the text is not valid.
        """
        result = await self.library.save(name, text, files, base, reason=why)
        if isinstance(result, SkillSaved) and result.key.startswith("folder:"):
            await self._trust_files(result.key)
        return result

    async def diff(self, key: str, a: int, b: int = 0) -> tuple[SkillFileDiff, ...]:
        """Return the files that differ between two versions. Version 0 is the current state, -1 an empty skill."""
        return await asyncio.to_thread(self.library.diff, key, a, b)

    async def restore(self, key: str, version: int) -> SkillSaved | SkillSaveConflict:
        """Save an old version as the newest one."""
        result = await self.library.restore(key, version)
        if isinstance(result, SkillSaved) and result.key.startswith("folder:"):
            await self._trust_files(result.key)
        return result

    async def trust(self, key: str, digest: str) -> None:
        """Trust the skill while its files match `digest`, which comes from the row that the user reviewed."""
        await self.library.trust(key, digest)

    async def distrust(self, key: str) -> None:
        await self.library.revoke_trust(key)

    async def distrust_folder(self, folder: Path) -> None:
        """Revoke the trust in the individual skills of a folder. Called when the user stops trusting the folder."""
        await self.library.revoke_trust_in(_resolved(folder) or folder)

    async def pin(self, key: str, on: bool = True) -> None:
        """Pin or unpin the skill. A pinned skill is listed first and protected from changes by agents."""
        await self.library.pin(key, on)

    async def disable(self, key: str, on: bool = True) -> None:
        """Disable or enable the skill. A disabled skill is not offered to agents."""
        await self.library.disable(key, on)

    async def archive(self, key: str, on: bool = True) -> None:
        """Archive the skill with all its versions; with `on` False, restore it."""
        await self.library.archive(key, on)

    async def rename(self, key: str, name: str) -> str:
        """Rename the skill, in its text too, and return its new key."""
        return await self.library.rename(key, name)

    async def preview_import(self, path: Path, *, replace: bool = False) -> tuple[ImportedSkill, ...]:
        """Return the skills that an import of a zip file or a folder would add, with findings. Save nothing."""
        return await preview_import(self.library, path, replace=replace)

    async def import_skills(
        self, path: Path, names: Collection[str] = (), *, replace: bool = False
    ) -> tuple[ImportedSkill, ...]:
        """Import all skills in a zip file or a folder, or only `names`. They are unused until the user trusts them."""
        return await import_skills(self.library, path, names, replace=replace)

    async def export(self, key: str, to: Path, version: int = 0) -> Path:
        """Write the skill into the folder `to`, or to a zip file if `to` ends in .zip. Return the path."""
        return await asyncio.to_thread(export_skill, self.library, key, to, version)

    async def usage(self, key: str) -> tuple[SkillUse, ...]:
        """Return the runs that used the skill, with their outcomes."""
        return await asyncio.to_thread(self.library.used_in, key)

    async def offered(self, folder: Path, *, safe: bool = False) -> tuple[SkillOffer, ...]:
        """Return the skills that a run in the folder may use, each with the version that the run will read."""
        project_folder = None if safe else _resolved(folder)
        rows = await asyncio.to_thread(self.library.list, project_folder, self._follows(project_folder))
        latest = await asyncio.to_thread(self.library.latest_versions)
        offers = []
        for row in rows:
            if row.state != "enabled":
                continue
            if version := await self._version(row, *latest.get(row.key, (0, ""))):
                offers.append(SkillOffer(OfferedSkill(row.name, row.source, version, row.key), row))
        return tuple(offers)

    async def expand(self, text: str, folder: Path) -> str:
        """Expand `/NAME text` to a request to use that skill. Return other text unchanged.

        Only skills that are enabled in the folder are expanded.
        """
        if not (typed := TYPED_COMMAND.fullmatch(text.strip())):
            return text
        rows = await self.list(folder)
        if not any(row.name == typed[1] and row.state == "enabled" for row in rows):
            return text
        return f"Use the skill {typed[1]}." + (f"\n\n{typed[2].strip()}" if typed[2] else "")

    async def allow(self, run: str, permissions: Collection[SkillPermission], by: str) -> tuple[str, ...]:
        """Save rules for the permissions that the user granted to a skill in this run. Return the rules as text."""
        rules = []
        for permission in permissions:
            subject = RULE_SUBJECTS[TOOLS[permission.tool].access]
            with contextlib.suppress(Problem):  # No rule for a pattern that is too broad: the user is asked each time.
                rule = new_rule(
                    new_rule_id(),
                    "allow",
                    permission.tool,
                    subject,
                    permission.pattern,
                    scope="run",
                    scope_id=run,
                    author=by,
                )
                check_rule(rule)
                rules.append(rule)
        if rules:
            await self._rule_store.add(rules)
        return tuple(rule.description for rule in rules)

    async def _version(self, row: SkillRow, latest: int, latest_digest: str) -> int:
        """Return the number of the version with exactly the files in `row`, saving a new version if needed.

        `latest` is the number of the latest version. Return 0 if the files have changed since `row` was read.
        """
        if latest_digest == row.digest or not self.library.can_write:
            return latest
        version = await self.library.save_disk_changes(row.key)
        return version if self.library.digest(row.key) == row.digest else 0

    async def _trust_files(self, key: str) -> None:
        """Extend the trust in the folder to the current files of this skill, because the user has just written them."""
        skill_folder = Path(key.partition(":")[2])
        root = next((parent.parent for parent in skill_folder.parents if parent.name in (".agents", ".claude")), None)
        if root is not None:
            relative = skill_folder.relative_to(root).as_posix()
            opened = await asyncio.to_thread(self.library.open, key)
            await pin_files(
                self._rule_store, str(root), {f"{relative}/{file.path}": file.digest for file in opened.files}
            )

    def _follows(self, folder: Path | None) -> TrustCheck | None:
        return followed_files(self._rule_store.current(), folder).follows_digest if folder else None


def _resolved(folder: Path | None) -> Path | None:
    """Resolve symbolic links, so that a folder is always known by the same path."""
    return folder.resolve() if folder else None
