"""What the page of skills asks of the engine: plain values in and out, and nothing waits in the window's thread."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem
from core.domain.skill import MAIN, FileDifference, Finding, Imported, Moved, OpenSkill, Saved, SkillRow, SkillUse
from ui.bridge import Bridge
from ui.proposals_door import ProposalsDoor
from ui.skills.foot import Measures
from ui.skills.work import Body, Work


class Checked(NamedTuple):
    """What is to be said of a text, and how long its parts are."""

    findings: Sequence[Finding]
    measures: Measures


class Door(ProposalsDoor):
    """`folder` is where the session works that was looked at last: its own skills are among those listed."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge, "skill")
        self.folder = ""

    async def rows(self) -> Sequence[SkillRow]:
        folder = self._place()
        return await self._bridge.ask(lambda engine: engine.skills.list(folder))

    async def open(self, key: str) -> OpenSkill:
        folder = self._place()
        return await self._bridge.ask(lambda engine: engine.skills.open(key, folder))

    async def check(self, text: str, files: Sequence[str], name: str) -> Checked:
        """In a thread of its own: reading a long text takes a while."""

        async def look(_engine: object) -> Checked:
            return await asyncio.to_thread(measured, text, tuple(files), name)

        return await self._bridge.ask(look)

    async def body(self, key: str, path: str) -> str | bytes:
        """A file as it is now: text where it is text."""
        body = await self._bridge.ask(lambda engine: engine.skills.body(key, path))
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            return body

    async def save(self, key: str, text: str, changes: Mapping[str, Body], base: int) -> Saved | Moved:
        """`changes` may hold the main text as well; it is `text`."""
        files = {
            path: body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
            for path, body in changes.items()
            if path != MAIN
        }
        return await self._bridge.ask(lambda engine: engine.skills.save(key, text, files, base))

    async def compared(
        self, work: Work, before: int, after: int, changes: Mapping[str, Body]
    ) -> Sequence[FileDifference]:
        """Two versions; 0 is what is saved with what is written now laid over it."""
        key = work.key
        found = await self._bridge.ask(lambda engine: engine.skills.difference(key, before, after))
        by_path = {each.path: each for each in found}
        for path, body in changes.items():
            held = by_path.pop(path, None)
            was = held.before if held else await self._text(key, path, before)
            if isinstance(body, bytes) or (held and not held.text):
                by_path[path] = FileDifference(path, None, None, text=False)
            elif was != body:
                by_path[path] = FileDifference(path, was, body)
        return sorted(by_path.values(), key=lambda each: (each.path != MAIN, each.path))

    async def restore(self, key: str, version: int) -> Saved | Moved:
        return await self._bridge.ask(lambda engine: engine.skills.restore(key, version))

    async def trust(self, key: str, digest: str) -> None:
        await self._bridge.ask(lambda engine: engine.skills.trust(key, digest))

    async def distrust(self, key: str) -> None:
        await self._bridge.ask(lambda engine: engine.skills.distrust(key))

    async def switch(self, what: str, key: str, on: bool) -> None:
        """Pin, disable or archive; or take it back."""
        await self._bridge.ask(lambda engine: getattr(engine.skills, what)(key, on))

    async def rename(self, key: str, name: str) -> str:
        return await self._bridge.ask(lambda engine: engine.skills.rename(key, name))

    async def copy(self, key: str, name: str) -> str:
        """All of its files under another name; the new key."""
        opened = await self.open(key)
        files: dict[str, Body] = {}
        for file in opened.files:
            if file.path != MAIN:
                files[file.path] = await self.body(key, file.path)
        text = await asyncio.to_thread(_named, opened.text, name)
        await self.save(name, text, files, 0)
        return f"library/{name}"

    async def uses(self, key: str) -> Sequence[SkillUse]:
        return await self._bridge.ask(lambda engine: engine.skills.used_in(key))

    async def look_in(self, place: str) -> Sequence[Imported]:
        """What an import would bring."""
        path = Path(place)
        return await self._bridge.ask(lambda engine: engine.skills.look_into(path))

    async def take_in(self, place: str, names: Sequence[str]) -> Sequence[Imported]:
        path = Path(place)
        brought = await self._bridge.ask(lambda engine: engine.skills.bring(path, names))
        return [each for each in brought if each.version]

    async def export(self, key: str, place: str) -> None:
        path = Path(place)
        await self._bridge.ask(lambda engine: engine.skills.export(key, path))

    async def _text(self, key: str, path: str, version: int) -> str | None:
        """A file of a version; None where it has none."""
        try:
            body = await self._bridge.ask(lambda engine: engine.skills.body(key, path, version))
        except Problem:
            return None
        return body.decode("utf-8", "replace")

    def _place(self) -> Path | None:
        return Path(self.folder) if self.folder else None


def _named(text: str, name: str) -> str:
    from core.skills.format import with_field  # in another thread, and only where a skill is copied

    return with_field(text, "name", name)


def measured(text: str, files: tuple[str, ...], folder: str) -> Checked:
    """What is to be said of a text."""
    from core.skills.format import read, tokens  # in another thread, and only where skills are written

    reading = read(text, [path for path in files if path != MAIN], folder=folder)
    skill = reading.skill
    measures = Measures(len(skill.name), len(skill.description), tokens(skill.body)) if skill else Measures()
    return Checked(reading.findings, measures)
