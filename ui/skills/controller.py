"""The calls of the Skills page to the engine. They run on the engine's thread, and take and return plain values."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem
from core.domain.skill import (
    SKILL_FILE,
    ImportedSkill,
    OpenSkill,
    SkillFileDiff,
    SkillFinding,
    SkillRow,
    SkillSaveConflict,
    SkillSaved,
    SkillUse,
)
from ui.base.bridge import Bridge
from ui.base.proposal_controller import ProposalController
from ui.skills.edited_skill import EditedSkill, FileContents
from ui.skills.editor_status import SkillSizes


class SkillCheck(NamedTuple):
    """The result of checking the text of a skill: the findings, and the sizes of its name, description and body."""

    findings: Sequence[SkillFinding]
    sizes: SkillSizes


class SkillsController(ProposalController):
    """Calls the engine's skill services.

    `folder` is the folder of the session viewed last; the skills in it are listed too.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge, "skill")
        self.folder = ""

    async def list_skills(self) -> Sequence[SkillRow]:
        folder = self._session_folder()
        return await self._bridge.ask(lambda engine: engine.skills.list(folder))

    async def open(self, key: str) -> OpenSkill:
        folder = self._session_folder()
        return await self._bridge.ask(lambda engine: engine.skills.open(key, folder))

    async def check(self, text: str, files: Sequence[str], name: str) -> SkillCheck:
        """Check the text of a SKILL.md in a separate thread, because parsing a long text takes a while.

        `files` are the paths of the skill's files; `name` is the name that the skill should have.
        """

        async def check(_engine: object) -> SkillCheck:
            return await asyncio.to_thread(check_text, text, tuple(files), name)

        return await self._bridge.ask(check)

    async def read_file(self, key: str, path: str) -> str | bytes:
        """Return the current contents of a file: str for valid UTF-8, bytes for anything else."""
        body = await self._bridge.ask(lambda engine: engine.skills.read_file(key, path))
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            return body

    async def save(
        self, key: str, text: str, changes: Mapping[str, FileContents], base: int
    ) -> SkillSaved | SkillSaveConflict:
        """Save a new version of a skill, or return a conflict if the newest version is not `base`.

        `text` becomes the SKILL.md, even if `changes` contains another one.
        """
        files = {
            path: body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
            for path, body in changes.items()
            if path != SKILL_FILE
        }
        return await self._bridge.ask(lambda engine: engine.skills.save(key, text, files, base))

    async def diff(
        self, edit: EditedSkill, before: int, after: int, changes: Mapping[str, FileContents]
    ) -> Sequence[SkillFileDiff]:
        """Return the files that differ between two versions.

        If `after` is 0, compare with the saved files plus `changes`.
        """
        stored_diffs = await self._bridge.ask(lambda engine: engine.skills.diff(edit.key, before, after))
        diffs = {diff.path: diff for diff in stored_diffs}
        for path, body in changes.items():
            stored = diffs.pop(path, None)
            text_before = stored.before if stored else await self._text(edit.key, path, before)
            if isinstance(body, bytes) or (stored and not stored.text):
                diffs[path] = SkillFileDiff(path, None, None, text=False)
            elif text_before != body:
                diffs[path] = SkillFileDiff(path, text_before, body)
        return sorted(diffs.values(), key=lambda diff: (diff.path != SKILL_FILE, diff.path))

    async def restore(self, key: str, version: int) -> SkillSaved | SkillSaveConflict:
        return await self._bridge.ask(lambda engine: engine.skills.restore(key, version))

    async def trust(self, key: str, digest: str) -> None:
        await self._bridge.ask(lambda engine: engine.skills.trust(key, digest))

    async def untrust(self, key: str) -> None:
        await self._bridge.ask(lambda engine: engine.skills.distrust(key))

    async def pin(self, key: str, on: bool) -> None:
        await self._bridge.ask(lambda engine: engine.skills.pin(key, on))

    async def disable(self, key: str, on: bool) -> None:
        await self._bridge.ask(lambda engine: engine.skills.disable(key, on))

    async def archive(self, key: str, on: bool) -> None:
        await self._bridge.ask(lambda engine: engine.skills.archive(key, on))

    async def rename(self, key: str, name: str) -> str:
        return await self._bridge.ask(lambda engine: engine.skills.rename(key, name))

    async def copy(self, key: str, name: str) -> str:
        """Copy a skill with all of its files, and return the new key."""
        opened = await self.open(key)
        files: dict[str, FileContents] = {}
        for file in opened.files:
            if file.path != SKILL_FILE:
                files[file.path] = await self.read_file(key, file.path)
        text = await asyncio.to_thread(_with_name, opened.text, name)
        await self.save(name, text, files, 0)
        return f"library/{name}"

    async def usage(self, key: str) -> Sequence[SkillUse]:
        return await self._bridge.ask(lambda engine: engine.skills.usage(key))

    async def preview_import(self, source: str) -> Sequence[ImportedSkill]:
        """Return the skills that importing a folder or zip file would add."""
        path = Path(source)
        return await self._bridge.ask(lambda engine: engine.skills.preview_import(path))

    async def import_skills(self, source: str, names: Sequence[str]) -> Sequence[ImportedSkill]:
        path = Path(source)
        imported = await self._bridge.ask(lambda engine: engine.skills.import_skills(path, names))
        return [skill for skill in imported if skill.version]

    async def export(self, key: str, target: str) -> None:
        path = Path(target)
        await self._bridge.ask(lambda engine: engine.skills.export(key, path))

    async def _text(self, key: str, path: str, version: int) -> str | None:
        """Return the text of a file in a version; None if the version does not have it."""
        try:
            body = await self._bridge.ask(lambda engine: engine.skills.read_file(key, path, version))
        except Problem:
            return None
        return body.decode("utf-8", "replace")

    def _session_folder(self) -> Path | None:
        return Path(self.folder) if self.folder else None


def _with_name(text: str, name: str) -> str:
    """Return the text of a SKILL.md with another name in its front matter."""
    # Imported late, because it is needed only when a skill is copied, and then in a worker thread.
    from core.skills.skill_md import set_field

    return set_field(text, "name", name)


def check_text(text: str, files: tuple[str, ...], expected_name: str) -> SkillCheck:
    """Check the text of a SKILL.md.

    `files` are the paths of the skill's files; `expected_name` is its folder's name.
    """
    # Imported late, because it is needed only when a skill is edited, and then in a worker thread.
    from core.skills.skill_md import estimate_tokens, parse_skill

    parsed = parse_skill(text, [path for path in files if path != SKILL_FILE], folder=expected_name)
    skill = parsed.skill
    if skill is None:
        return SkillCheck(parsed.findings, SkillSizes())
    sizes = SkillSizes(name=len(skill.name), description=len(skill.description), tokens=estimate_tokens(skill.body))
    return SkillCheck(parsed.findings, sizes)
