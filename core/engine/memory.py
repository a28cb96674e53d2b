"""What a person can do with memories, for the window and for the command line: plain values in and out."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.clock import SECOND, now
from core.domain.memory import DAY, Author, Change, Kind, Reach, Said, State, state, strength
from core.domain.memory import Memory as Remembered
from core.domain.memory import Standing as Where
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.memory.keep import Kept, Source
from core.memory.meaning import Meaning, Standing
from core.memory.memory import Memories, edited
from core.memory.portable import Brought, exported, imported, of_lines
from core.memory.tidy import tidy
from core.store.memory_rows import Use
from core.store.proposals import Proposals
from core.store.reader import Reader

if TYPE_CHECKING:
    from core.engine.proposing import Tray

AHEAD = (0, 30, 90, 180, 365)  # days for which the strength is foretold


@dataclass(frozen=True, slots=True)
class Listed:
    """A memory in a list: how strong it is now, and how well it fits what was looked for; `words` says why."""

    memory: Remembered
    strength: float
    state: State
    score: float = 0.0
    words: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of `runs` went well, among those somebody judged; nothing is said of the others."""

    runs: int = 0
    judged: int = 0
    good: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """Everything about one memory.

    `changes` are its versions, oldest first. `uses` the runs that were told it, newest first. `links` are memories that
    say otherwise and are active. `ahead` is its strength in so many days when nobody uses it, by days. `past` is its
    strength at each change and use since it was made, as (moment, strength).
    """

    listed: Listed
    changes: tuple[Change, ...]
    uses: tuple[Use, ...]
    links: tuple[Remembered, ...]
    ahead: tuple[tuple[int, float], ...]
    past: tuple[tuple[int, float], ...]
    with_it: Share
    without: Share


@dataclass(frozen=True, slots=True)
class Tidied:
    """Ids of memories that went to the archive, and of proposals that were made."""

    archived: tuple[str, ...]
    proposed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Ids of memories that were forgotten, and of proposals that were rejected or taken back with them; `skills` are
    those that were taken back."""

    memories: tuple[str, ...] = ()
    proposals: tuple[str, ...] = ()
    skills: tuple[Proposal, ...] = ()


@dataclass(frozen=True, slots=True)
class Day:
    """The memories of one day where the person is, as YYYY-MM-DD, the newest first; outcomes are only counted."""

    day: str
    learnt: tuple[Remembered, ...]
    runs: int


class Memory:
    """Every wish is durable when its method returns. All but `erase` can be taken back with `undo` or `restore`."""

    def __init__(
        self, memories: Memories, reader: Reader, proposals: Proposals, tray: Callable[[], "Tray"] | None = None
    ) -> None:
        self._memories = memories
        self._reader = reader
        self._proposals = proposals
        self._decide = tray

    async def listed(
        self, *, kind: Kind | None = None, standing: Where | None = "active", session: str = "", reach: str = "",
        place: str = "", limit: int = -1,
    ) -> list[Listed]:  # fmt: skip
        """The newest first; `standing` None lists those in the archive and the forgotten too."""
        found = self._memories.listed(
            standing=standing, kind=kind, session=session, reach=reach, place=place, limit=limit
        )
        at = now()
        return [_listed(one, at) for one in found]

    async def find(self, text: str, *, folder: str = "", limit: int = 50) -> list[Listed]:
        """The active ones whose words fit, the best first; with `folder` only what a run there could be told."""
        wanted = (("everywhere", ""), ("folder", folder)) if folder else None
        at = now()
        near = await self._memories.near(text, wanted)
        found = self._memories.find(text, wanted=wanted, most=limit, near=near)
        return [replace(_listed(one.memory, at), score=one.score, words=one.why) for one in found]

    async def show(self, name: str) -> Shown:
        """One by its id, or by enough of its start."""
        memory, at = self._memories.memory(name), now()
        uses, changes = self._memories.uses(memory.id), self._memories.changes(memory.id)
        links = [self._memories.memory(link) for link in memory.links if self._is_there(link)]
        moments = sorted({memory.made, *(use.at for use in uses), at})
        return Shown(
            _listed(memory, at),
            tuple(changes),
            tuple(uses),
            tuple(one for one in links if one.standing == "active"),
            tuple((days, strength(memory, at + days * DAY)) for days in AHEAD),
            tuple((moment, strength(_as_of(memory, uses, moment), moment)) for moment in moments),
            _share([use for use in uses if use.used]),
            _share([use for use in uses if not use.used]),
        )

    async def add(
        self, text: str, kind: Kind = "knowledge", *, reach: Reach = "everywhere", place: str = "",
        parts: dict[str, str] | None = None,
    ) -> Kept:  # fmt: skip
        """Keep what a person says. What came of it tells of a known one, and of those that say otherwise."""
        return await self._memories.keep(Said(kind, text, reach, place, "", 1.0, parts or {}), Source("person"))

    async def edit(
        self, name: str, text: str, *, base: int = 0, kind: Kind | None = None, reach: Reach | None = None,
        place: str = "", parts: dict[str, str] | None = None,
    ) -> Remembered:  # fmt: skip
        """Let it say something else; with `base` only where that is still its version. `parts` are its fields then."""
        memory = self._memories.memory(name)
        said = edited(memory, text) if text and text != memory.said.text else memory.said
        said = replace(said, kind=kind or said.kind, parts=said.parts if parts is None else parts)
        if reach:
            said = replace(said, reach=reach, place=place)
        return await self._memories.edit(memory.id, said, base=base)

    async def pin(self, name: str, on: bool = True) -> Remembered:
        return await self._memories.pin(name, on)

    async def archive(self, name: str) -> Remembered:
        """Kept, and told to nobody."""
        return await self._memories.archive(name)

    async def restore(self, name: str) -> Remembered:
        """Back from the archive, or after it was forgotten."""
        return await self._memories.restore(name)

    async def forget(self, name: str) -> Remembered:
        """Gone from every list; `restore` brings it back until it is erased."""
        return await self._memories.forget(name)

    async def erase(self, name: str) -> None:
        """Gone for good, with its versions and what was noted of its use."""
        await self._memories.erase(name)

    async def undo(self, name: str, number: int = 0) -> Remembered | None:
        """Take a change back, the last that counts for 0; None where that leaves nothing of it."""
        return await self._memories.undo(name, number)

    async def changes(self, name: str) -> tuple[Change, ...]:
        """All that happened to one, in order, also where nothing is left of it."""
        known = self._memories.memory(name).id if self._is_there(name) else name
        return tuple(self._memories.changes(known))

    async def forget_session(self, session: str) -> Forgotten:
        """Forget what was learnt from a session, skills too, but not what a person wrote, and reject what it still
        proposes."""
        gone = await self._memories.forget_all(session=session)
        waiting = [one.id for one in self._proposals.find(state="open", session=session)]
        for name in waiting:
            await self._proposals.settle(name, "rejected")
        skills = await self._tray().take_back(session, self._reworded(session))
        return Forgotten(tuple(gone), (*waiting, *(one.id for one in skills)), skills)

    def _reworded(self, session: str) -> set[str]:
        """The proposals that a person kept in words of their own."""
        settled = self._memories.book.facts(lambda facts: facts.facts(session, ("proposal_settled",)))
        return {said["proposal_id"] for _, said in settled if said.get("text", {}).get("head")}

    async def forget_folder(self, folder: str) -> Forgotten:
        """Forget what was learnt for a folder, but not what a person wrote."""
        return Forgotten(tuple(await self._memories.forget_all(folder=folder)))

    async def bring_back(self, memories: Sequence[str], proposals: Sequence[str] = ()) -> None:
        """Restore these memories, open these proposals again or keep them again, as they were."""
        for name in memories:
            await self._memories.restore(name)
        for name in reversed(proposals):
            await self._tray().bring_back(name)

    async def tidy(self) -> Tidied:
        """Archive what nobody has used for long; propose lessons of like runs, and mergers of like memories."""
        archived, proposed = await tidy(self._memories, self._proposals)
        return Tidied(tuple(archived), tuple(one.id for one in proposed))

    async def journey(self, limit: int = 1_000) -> list[Day]:
        """What was learnt, by day, the newest first."""
        return await asyncio.to_thread(_journey, self._memories.listed(standing=None, limit=limit))

    async def export(self, *, all_of_them: bool = False) -> str:
        """As JSON, the active ones or all that are not forgotten."""
        found = self._memories.listed(standing=None if all_of_them else "active")
        return exported(one for one in found if one.standing != "forgotten")

    async def take_in(self, file: Path, *, reach: Reach = "everywhere", place: str = "") -> list[Kept]:
        """Memories out of a JSON file of ours, a Markdown list of another agent, or the database of ALMA: all or none.

        Those that are pinned in a file of ours are pinned here too.
        """
        by: Author = "import"
        source = Source(by, why=f"from {file.name}")
        told = await asyncio.to_thread(_said_in, file)
        made = [(replace(said, reach=reach, place=place) if place else said, pinned) for said, pinned in told]
        for number, (said, _) in enumerate(made, 1):
            self._check(said, f"memory {number} of {file.name}")
        return await self._memories.keep_all(made, source)

    def _check(self, said: Said, named: str) -> None:
        try:
            self._memories.check(said)
        except Problem as problem:
            trouble = problem.trouble
            what = f"Nothing was taken in, because of {named}."
            raise Problem(what, f"{trouble.what} {trouble.why}".strip(), "Correct it in the file.") from problem

    async def meaning(self) -> Standing:
        """Which model tells what memories mean, what is wrong with it, and how many it has seen."""
        return await self._meaning.standing()

    async def see_to_all(self, told: Callable[[int], None]) -> int:
        """Let the model see every memory it has not seen; how many. `told` hears how many so far."""
        return await self._meaning.catch_up(told)

    def _tray(self) -> "Tray":
        assert self._decide is not None
        return self._decide()

    @property
    def _meaning(self) -> Meaning:
        assert self._memories.meaning is not None
        return self._memories.meaning

    def _is_there(self, name: str) -> bool:
        try:
            self._memories.memory(name)
        except Problem:
            return False
        return True


def _said_in(file: Path) -> list[Brought]:
    from core.store.foreign_memory import alma, is_database

    if file.exists() and not file.is_file():
        raise Problem(f"{file} is no ordinary file.", "", "Name a file.")
    try:
        if is_database(file):
            return [Brought(Said(**one)) for one in alma(file)]
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{file} cannot be read.", f"{error}.", "Name a file that is there.") from error
    return list(map(Brought, of_lines(text))) if file.suffix.lower() == ".md" else imported(text)


def _journey(memories: Sequence[Remembered]) -> list[Day]:
    days: dict[str, list[Remembered]] = {}
    for one in memories:
        day = datetime.fromtimestamp(one.made / SECOND).astimezone().date().isoformat()
        days.setdefault(day, []).append(one)
    return [_day(day, made) for day, made in days.items()]


def _day(day: str, made: Sequence[Remembered]) -> Day:
    learnt = tuple(one for one in made if one.said.kind != "outcome")
    return Day(day, learnt, len(made) - len(learnt))


def _listed(memory: Remembered, at: int) -> Listed:
    left = strength(memory, at)
    return Listed(memory, left, state(left))


def _as_of(memory: Remembered, uses: Sequence[Use], at: int) -> Remembered:
    """The memory with the uses it had at a moment."""
    until = [use for use in uses if use.at <= at]
    counted = replace(
        memory.uses, used=sum(use.used for use in until), good=sum(use.went == "good" and use.used for use in until),
        last=max((use.at for use in until), default=0),
    )  # fmt: skip
    return replace(memory, uses=counted)


def _share(uses: Sequence[Use]) -> Share:
    return Share(len(uses), sum(bool(use.went) for use in uses), sum(use.went == "good" for use in uses))
