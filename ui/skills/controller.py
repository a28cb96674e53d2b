"""The engine calls of the Skills page; each runs on the engine's thread and takes and returns plain values."""

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
    """The findings in the text of a skill, and the sizes of its parts."""

    findings: Sequence[SkillFinding]
    sizes: SkillSizes


class SkillsController(ProposalController):
    """Calls the engine's skill services. `folder` is that of the session viewed last; its skills are listed too."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge, "skill")
        self.folder = ""

    async def list_skills(self) -> Sequence[SkillRow]:
        folder = self._place()
        return await self._bridge.ask(lambda engine: engine.skills.list(folder))

    async def open(self, key: str) -> OpenSkill:
        folder = self._place()
        return await self._bridge.ask(lambda engine: engine.skills.open(key, folder))

    async def check(self, text: str, files: Sequence[str], name: str) -> SkillCheck:
        """Check a text in a separate thread, because parsing a long one takes a while.

        `name` is the name that the skill should have.
        """

        async def look(_engine: object) -> SkillCheck:
            return await asyncio.to_thread(check_text, text, tuple(files), name)

        return await self._bridge.ask(look)

    async def read_file(self, key: str, path: str) -> str | bytes:
        """Return the current contents of a file: str if it is valid UTF-8, else bytes."""
        body = await self._bridge.ask(lambda engine: engine.skills.read_file(key, path))
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            return body

    async def save(
        self, key: str, text: str, changes: Mapping[str, FileContents], base: int
    ) -> SkillSaved | SkillSaveConflict:
        """Save a version based on version `base`. `text` is the SKILL.md, which `changes` cannot override."""
        files = {
            path: body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
            for path, body in changes.items()
            if path != SKILL_FILE
        }
        return await self._bridge.ask(lambda engine: engine.skills.save(key, text, files, base))

    async def diff(
        self, edit: EditedSkill, before: int, after: int, changes: Mapping[str, FileContents]
    ) -> Sequence[SkillFileDiff]:
        """Return the files that differ between two versions; `after` 0 means the saved state with `changes` applied."""
        key = edit.key
        diffs = await self._bridge.ask(lambda engine: engine.skills.diff(key, before, after))
        by_path = {each.path: each for each in diffs}
        for path, body in changes.items():
            old = by_path.pop(path, None)
            was = old.before if old else await self._text(key, path, before)
            if isinstance(body, bytes) or (old and not old.text):
                by_path[path] = SkillFileDiff(path, None, None, text=False)
            elif was != body:
                by_path[path] = SkillFileDiff(path, was, body)
        return sorted(by_path.values(), key=lambda each: (each.path != SKILL_FILE, each.path))

    async def restore(self, key: str, version: int) -> SkillSaved | SkillSaveConflict:
        return await self._bridge.ask(lambda engine: engine.skills.restore(key, version))

    async def trust(self, key: str, digest: str) -> None:
        await self._bridge.ask(lambda engine: engine.skills.trust(key, digest))

    async def untrust(self, key: str) -> None:
        await self._bridge.ask(lambda engine: engine.skills.distrust(key))

    async def set_flag(self, flag: str, key: str, on: bool) -> None:
        """Set (`on`) or clear a flag of a skill: pinned, disabled or archived."""
        await self._bridge.ask(lambda engine: getattr(engine.skills, flag)(key, on))

    async def rename(self, key: str, name: str) -> str:
        return await self._bridge.ask(lambda engine: engine.skills.rename(key, name))

    async def copy(self, key: str, name: str) -> str:
        """Copy a skill with all of its files, and return the new key."""
        opened = await self.open(key)
        files: dict[str, FileContents] = {}
        for file in opened.files:
            if file.path != SKILL_FILE:
                files[file.path] = await self.read_file(key, file.path)
        text = await asyncio.to_thread(_named, opened.text, name)
        await self.save(name, text, files, 0)
        return f"library/{name}"

    async def usage(self, key: str) -> Sequence[SkillUse]:
        return await self._bridge.ask(lambda engine: engine.skills.usage(key))

    async def preview_import(self, source: str) -> Sequence[ImportedSkill]:
        """Return the skills that an import would add."""
        path = Path(source)
        return await self._bridge.ask(lambda engine: engine.skills.preview_import(path))

    async def import_skills(self, source: str, names: Sequence[str]) -> Sequence[ImportedSkill]:
        path = Path(source)
        imported = await self._bridge.ask(lambda engine: engine.skills.import_skills(path, names))
        return [each for each in imported if each.version]

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

    def _place(self) -> Path | None:
        return Path(self.folder) if self.folder else None


def _named(text: str, name: str) -> str:
    from core.skills.skill_md import set_field  # imported in a worker thread, and only when a skill is copied

    return set_field(text, "name", name)


def check_text(text: str, files: tuple[str, ...], expected_name: str) -> SkillCheck:
    """Check the text of a skill. `files` are the paths of its files; `expected_name` is the name of its folder."""
    from core.skills.skill_md import (  # imported in a worker thread, and only when a skill is edited
        estimate_tokens,
        parse_skill,
    )

    reading = parse_skill(text, [path for path in files if path != SKILL_FILE], folder=expected_name)
    skill = reading.skill
    measures = (
        SkillSizes(len(skill.name), len(skill.description), estimate_tokens(skill.body)) if skill else SkillSizes()
    )
    return SkillCheck(reading.findings, measures)
