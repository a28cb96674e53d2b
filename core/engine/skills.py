"""Skills for the window, the command line and the runs: plain values in and out, nothing waited for on the loop."""

import asyncio
import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.domain.modes import DEFAULT_MODE, Mode
from core.domain.problems import Problem
from core.domain.rules import check, made_rule
from core.domain.skill import (
    MAIN,
    FileDifference,
    Finding,
    Imported,
    Moved,
    Offered,
    OpenSkill,
    Saved,
    SkillRow,
    SkillUse,
)
from core.engine.consent import SUBJECTS
from core.engine.slash import TYPED
from core.engine.trust import obeyed, trust_also
from core.skills.carry import bring, export, look_into
from core.skills.format import read
from core.skills.library import Library
from core.skills.listing import Obeys
from core.store.rule_book import RuleBook, new_rule_id
from core.tools.catalogue import TOOLS


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a skill wants to be allowed: calls of this tool that the pattern fits."""

    tool: str
    pattern: str

    @property
    def words(self) -> str:
        return f"{self.tool} {self.pattern}"


class Skills:
    """A skill is named by its key, as `list` gives it, or by its plain name. `folder` is where an agent would work."""

    def __init__(self, library: Library, book: RuleBook) -> None:
        self.library = library
        self._book = book

    async def list(self, folder: Path | None = None, mode: Mode = DEFAULT_MODE) -> tuple[SkillRow, ...]:
        """Every skill, in the order in which they go before each other, with its state there."""
        real = _real(folder)
        return await asyncio.to_thread(self.library.list, real, self._obeys(real, mode))

    async def key_of(self, name: str, folder: Path | None = None) -> str:
        """Which skill a plain name means."""
        real = _real(folder)
        return await asyncio.to_thread(self.library.key_of, name, real, self._obeys(real))

    async def open(self, name: str, folder: Path | None = None) -> OpenSkill:
        """Its text, files, findings and versions; `base` is to be named when it is saved."""
        key = await self.key_of(name, folder)
        if self.library.can_keep and not key.startswith("builtin/"):
            await self.library.kept(key)  # what lies on the disk now is a version, so that it can be a base
        real = _real(folder)
        return await asyncio.to_thread(self.library.open, key, real, self._obeys(real))

    async def text(self, key: str, version: int = 0) -> str:
        """What SKILL.md says, or said in this version."""
        return await asyncio.to_thread(self.library.text, key, version)

    async def body(self, key: str, path: str = MAIN, version: int = 0) -> bytes:
        """One of its files."""
        return await asyncio.to_thread(self.library.body, key, path, version)

    def check(self, text: str, files: Collection[str] = (), folder: str = "") -> tuple[Finding, ...]:
        """What is to be said of a text while it is written; quick enough for each pause in typing."""
        return read(text, files, folder=folder).findings

    def template(self, name: str, description: str = "") -> str:
        """A text to begin a new skill with."""
        return self.library.template(name, description) if description else self.library.template(name)

    async def save(
        self, name: str, text: str, files: Mapping[str, bytes | None] | None = None, base: int = 0, *, why: str = ""
    ) -> Saved | Moved:
        """What a person wrote, as the next version after `base`. `files` are those that change, None for one that goes.

        `Moved`: somebody was faster, and nothing was saved. Problem with the line where it is against the rules.
        """
        done = await self.library.save(name, text, files, base, why=why)
        if isinstance(done, Saved) and done.key.startswith("folder:"):
            await self._trust_files(done.key)
        return done

    async def difference(self, key: str, a: int, b: int = 0) -> tuple[FileDifference, ...]:
        """The files that differ between two versions; 0 is how it is now, -1 is nothing."""
        return await asyncio.to_thread(self.library.difference, key, a, b)

    async def restore(self, key: str, version: int) -> Saved | Moved:
        """An old version as the newest."""
        done = await self.library.restore(key, version)
        if isinstance(done, Saved) and done.key.startswith("folder:"):
            await self._trust_files(done.key)
        return done

    async def trust(self, key: str, digest: str) -> None:
        """Use it: the person has seen these very files. `digest` is that of the row they looked at."""
        await self.library.trust(key, digest)

    async def distrust(self, key: str) -> None:
        await self.library.distrust(key)

    async def distrust_folder(self, folder: Path) -> None:
        """A no to a folder takes back what was said of its skills one by one."""
        await self.library.distrust_below(_real(folder) or folder)

    async def pin(self, key: str, on: bool = True) -> None:
        """First in the list, and out of reach of agents."""
        await self.library.pin(key, on)

    async def disable(self, key: str, on: bool = True) -> None:
        """No agent is told of it."""
        await self.library.disable(key, on)

    async def archive(self, key: str, on: bool = True) -> None:
        """Out of the way with every version; with `on` False it is back."""
        await self.library.archive(key, on)

    async def rename(self, key: str, name: str) -> str:
        """Another name, in its text too; the new key."""
        return await self.library.rename(key, name)

    async def look_into(self, path: Path, *, replace: bool = False) -> tuple[Imported, ...]:
        """What a zip file or a folder would bring, with findings; nothing is kept."""
        return await look_into(self.library, path, replace=replace)

    async def bring(self, path: Path, names: Collection[str] = (), *, replace: bool = False) -> tuple[Imported, ...]:
        """Keep what is found there, or only these; nobody uses it before it is trusted."""
        return await bring(self.library, path, names, replace=replace)

    async def export(self, key: str, to: Path, version: int = 0) -> Path:
        """Write it into the folder `to`, or as a zip file if `to` ends so; where it is."""
        return await asyncio.to_thread(export, self.library, key, to, version)

    async def used_in(self, key: str) -> tuple[SkillUse, ...]:
        """The runs that used it, and how they went."""
        return await asyncio.to_thread(self.library.used_in, key)

    async def offer(self, folder: Path, mode: Mode, *, safe: bool = False) -> tuple[tuple[Offered, SkillRow], ...]:
        """The skills that a run there may use, each with the version that counts for it from now on."""
        where = None if safe else _real(folder)
        rows = await asyncio.to_thread(self.library.list, where, self._obeys(where, mode))
        kept = await asyncio.to_thread(self.library.newest)
        versions = [(row, await self._version(row, kept.get(row.key, (0, "")))) for row in rows if row.state == "on"]
        return tuple((Offered(row.name, row.source, version, row.key), row) for row, version in versions if version)

    async def called(self, text: str, folder: Path, mode: Mode) -> str:
        """What is sent for `/NAME words`, where NAME is a skill that may be used there; else the text as it is."""
        if not (typed := TYPED.fullmatch(text.strip())):
            return text
        rows = await self.list(folder, mode)
        if not any(row.name == typed[1] and row.state == "on" for row in rows):
            return text
        return f"Use the skill {typed[1]}." + (f"\n\n{typed[2].strip()}" if typed[2] else "")

    async def allow(self, run: str, wanted: Collection[Wanted], by: str) -> tuple[str, ...]:
        """Keep what the person allowed this run; the words of those that can be kept."""
        rules = []
        for each in wanted:
            subject = SUBJECTS[TOOLS[each.tool].touches]
            with contextlib.suppress(Problem):  # a pattern that means too much is asked about each time
                rule = made_rule(
                    new_rule_id(), "allow", each.tool, subject, each.pattern, scope="run", where=run, by=by
                )
                check(rule)
                rules.append(rule)
        if rules:
            await self._book.add(rules)
        return tuple(rule.words for rule in rules)

    async def _version(self, row: SkillRow, kept: tuple[int, str]) -> int:
        """The version of exactly what was judged, kept now if it was not yet; 0 where it changed in that moment."""
        if kept[1] == row.digest or not self.library.can_keep:
            return kept[0]
        version = await self.library.kept(row.key)
        return version if self.library.digest(row.key) == row.digest else 0

    async def _trust_files(self, key: str) -> None:
        """The person wrote them, so the folder's trust covers them as they are now."""
        place = Path(key.partition(":")[2])
        root = next((up.parent for up in place.parents if up.name in (".agents", ".claude")), None)
        if root is not None:
            inner = place.relative_to(root).as_posix()
            opened = await asyncio.to_thread(self.library.open, key)
            await trust_also(self._book, str(root), {f"{inner}/{file.path}": file.digest for file in opened.files})

    def _obeys(self, folder: Path | None, mode: Mode = DEFAULT_MODE) -> Obeys | None:
        return obeyed(self._book.now(), folder, mode).knows if folder else None


def _real(folder: Path | None) -> Path | None:
    """One name of a folder, whatever links lead to it."""
    return folder.resolve() if folder else None
