"""Everything that can be done with memories, for the engine: kept, looked for, changed, taken back, forgotten."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from core.domain.clock import Clock, now
from core.domain.ids import memory_id
from core.domain.memory import Change, Did, Kind, Memory, Said, Standing, reworded
from core.domain.problems import Problem
from core.memory.fade import faded
from core.memory.keep import Kept, Limits, Source, checked, keep
from core.memory.many import Many
from core.memory.meaning import Meaning
from core.memory.rank import NOTHING
from core.memory.recall import TOKENS, Found, Recollection, found, recall
from core.store.memory_book import MemoryBook
from core.store.memory_rows import MemoryRows, Use

EVERYWHERE = ("everywhere", "")
BATCH = 2_000  # new memories in one transaction


class Memories:
    """Lives on one loop. Every change is durable when its method returns, and can be taken back with `undo`."""

    def __init__(self, book: MemoryBook, clock: Clock = now, meaning: Meaning | None = None) -> None:
        self.book = book
        self.meaning = meaning
        self._clock = clock
        self._some = False

    @property
    def any(self) -> bool:
        """Is there a memory at all? Looked up until there is one: where there is none, nothing is recalled."""
        self._some = self._some or self.book.read(MemoryRows.any)
        return self._some

    def check(self, said: Said, limits: Limits | None = None) -> Said:
        """As it would be kept; a Problem says why it may not be."""
        return checked(said, limits)

    async def keep(self, said: Said, source: Source, limits: Limits | None = None) -> Kept:
        """Keep a sentence, or note that a known one was learnt again. A Problem says why it may not be kept."""
        good = checked(said, limits)
        means = NOTHING if good.kind == "outcome" else await self.near(good.text, [(good.reach, good.place)])
        return await self.book.write(lambda rows: keep(rows, good, source, self._clock(), means))

    async def keep_all(self, told: Iterable[tuple[Said, bool]], source: Source) -> list[Kept]:
        """All of them or none; each with whether it is pinned. Others write while they are compared, one by one."""
        with self.book.apart() as apart:
            many = Many(apart, source, self._clock())
            for said, pinned in told:
                good = checked(said)
                means = NOTHING if good.kind == "outcome" else await self.near(good.text, [(good.reach, good.place)])
                self.book.read(partial(many.compare, said=good, pinned=pinned, means=means))
                await asyncio.sleep(0)
            return await self.book.write(many.pour)

    async def near(self, text: str, wanted: Collection[tuple[str, str]] | None = None) -> Mapping[int, float]:
        """How near memories of these places are by what they mean, by key; empty where no model is chosen."""
        if self.meaning is None or not self.meaning.is_on:
            return NOTHING
        places = self.book.read(lambda rows: rows.every_place() if wanted is None else rows.places(wanted))
        return await self.meaning.near(text, [place.number for place in places])

    def recall(
        self, question: str, wanted: Collection[tuple[str, str]], *, told: Collection[str] = (), tokens: int = TOKENS,
        near: Mapping[int, float] = NOTHING,
    ) -> Recollection:  # fmt: skip
        """What a run is told for these words, of what is for these reaches and places."""
        at = self._clock()
        return self.book.read(lambda rows: recall(rows, question, wanted, at, told=told, tokens=tokens, near=near))

    def find(
        self, text: str, *, wanted: Collection[tuple[str, str]] | None = None, most: int = 50,
        near: Mapping[int, float] = NOTHING,
    ) -> list[Found]:  # fmt: skip
        """The memories whose words fit, the best first; those of every place unless some are named."""

        def look(rows: MemoryRows) -> list[Found]:
            places = [(one.reach, one.place) for one in rows.every_place()] if wanted is None else wanted
            return found(rows, text, places, self._clock(), most, near)

        return self.book.read(look)

    def listed(
        self, *, standing: Standing | None = "active", kind: Kind | None = None, session: str = "", reach: str = "",
        place: str = "", limit: int = -1,
    ) -> list[Memory]:  # fmt: skip
        """The newest first; with `standing` None also what was archived and forgotten."""
        return self.book.read(
            lambda rows: rows.listed(
                standing=standing, kind=kind, session=session, reach=reach, place=place, limit=limit
            )
        )

    def memory(self, name: str) -> Memory:
        """By its id, or by enough of its start."""
        memory = self.book.read(lambda rows: _named(rows, name))
        if memory is None:
            raise Problem(f"There is no memory {name!r}.", "", "List them with `journeyman memory list --all`.")
        return memory

    def changes(self, name: str) -> list[Change]:
        """All that happened to a memory, in order."""
        return self.book.read(lambda rows: rows.changes(name))

    def uses(self, name: str) -> list[Use]:
        """The runs that were told it, the newest first."""
        return self.book.read(lambda rows: rows.uses(memory=name))

    async def edit(self, name: str, said: Said, *, base: int = 0, by: Source | None = None) -> Memory:
        """Let it say something else. With `base` only where that is still its version."""
        good = checked(said)
        return await self._change(name, "edited", said=good, source=by, base=base)

    async def pin(self, name: str, on: bool = True) -> Memory:
        """A pinned memory is always told and never fades."""
        return await self._change(name, "pinned" if on else "unpinned")

    async def archive(self, name: str, *, by: Source | None = None) -> Memory:
        """Out of the way: kept, never told."""
        return await self._change(name, "archived", source=by)

    async def restore(self, name: str) -> Memory:
        """Back from the archive, or from what was forgotten."""
        return await self._change(name, "restored")

    async def forget(self, name: str, *, by: Source | None = None) -> Memory:
        """Never told and not listed. `restore` brings it back until it is erased."""
        return await self._change(name, "forgotten", source=by)

    async def erase(self, name: str) -> None:
        """Forget it for good, with everything that was noted of it."""
        await self.book.write(lambda rows: rows.erase(_known(rows, name).id))

    async def undo(self, name: str, number: int = 0) -> Memory | None:
        """Take a change back, the last one that still counts for 0; None where nothing is left of the memory."""

        def take_back(rows: MemoryRows) -> Memory | None:
            memory = _named(rows, name)
            known = memory.id if memory else name  # of what is gone the whole id still names its changes
            told = rows.changes(known)
            back = {one.back for one in told if one.did == "undone"}
            counting = [one.number for one in told if one.did != "undone" and one.number not in back]
            chosen = number or (counting[-1] if counting else 0)
            if not 1 <= chosen <= len(told):
                raise Problem("There is nothing to take back.", f"Memory {known} has no such change.", "")
            return rows.write(Change(known, len(told) + 1, self._clock(), "undone", "person", back=chosen))

        return await self.book.write(take_back)

    async def forget_all(self, *, session: str = "", folder: str = "") -> list[str]:
        """Forget what was learnt from a session, or what is for a folder; the ids. What a person wrote stays."""

        def forget(rows: MemoryRows) -> list[str]:
            of_folder = rows.listed(reach="folder", place=folder, standing=None) if folder else []
            chosen = rows.listed(session=session, standing=None) if session else of_folder
            gone = [one for one in chosen if one.standing != "forgotten" and one.author != "person"]
            for one in gone:
                rows.write(Change(one.id, one.version + 1, self._clock(), "forgotten", "person"))
            return [one.id for one in gone]

        if not session and not folder:
            raise Problem("Nothing was named.", "", "Name a session or a folder.")
        return await self.book.write(forget)

    async def add_all(self, said: Iterable[tuple[Said, Source]]) -> int:
        """Many new memories as they are, checked but not compared with what is there; how many."""
        at, given = self._clock(), list(said)
        names = sorted(memory_id() for _ in given)  # in order: each goes into the index beside the one before it
        changes = [
            Change(name, 1, at, "kept", source.by, checked(one), source.session, source.seq, source.why)
            for name, (one, source) in zip(names, given, strict=True)
        ]
        for start in range(0, len(changes), BATCH):
            await self.book.write(partial(MemoryRows.add_all, changes=changes[start : start + BATCH]))
        return len(changes)

    async def fade(self) -> list[str]:
        """Archive what has lost its strength; the ids. What a person wrote or pinned stays."""
        at = self._clock()
        gone = self.book.read(lambda rows: [(one.id, why) for one, why in faded(rows.listed(), at)])

        def archive(rows: MemoryRows) -> list[str]:
            done = []
            for name, why in gone:
                memory = rows.memory(name)
                if memory and memory.standing == "active" and not memory.kept_for_good:
                    rows.write(Change(name, memory.version + 1, at, "archived", "run", why=why))
                    done.append(name)
            return done

        return await self.book.write(archive) if gone else []

    async def mend(self) -> int:
        """Make anew what only its changes tell of, where a damaged file lost the rest; how many."""
        return 0 if self.any else await self.book.write(MemoryRows.mend)

    async def use(self, uses: Sequence[Use]) -> None:
        """Note what a run was told and whether it used it."""
        await self.book.write(lambda rows: rows.use(uses))

    async def _change(
        self, name: str, did: Did, *, said: Said | None = None, source: Source | None = None, base: int = 0
    ) -> Memory:
        by = source or Source("person")

        def write(rows: MemoryRows) -> Memory:
            memory = _known(rows, name)
            if base and memory.version != base:
                raise Problem(
                    "This memory was changed meanwhile.",
                    f"It is at version {memory.version}, not {base}.",
                    "Look at it.",
                )
            if _is_so(memory, did) or said == memory.said:
                return memory
            change = Change(memory.id, memory.version + 1, self._clock(), did, by.by, said, by.session, by.seq, by.why)
            return rows.write(change) or memory

        return await self.book.write(write)


def _is_so(memory: Memory, did: Did) -> bool:
    """A wish that changes nothing is no change."""
    standing = {"archived": "archived", "restored": "active", "forgotten": "forgotten"}.get(did)
    return memory.standing == standing or (did in {"pinned", "unpinned"} and memory.pinned == (did == "pinned"))


def _named(rows: MemoryRows, name: str) -> Memory | None:
    if memory := rows.memory(name):
        return memory
    found = rows.named(name) if len(name) > 1 else []
    return rows.memory(found[0]) if len(found) == 1 else None


def _known(rows: MemoryRows, name: str) -> Memory:
    memory = _named(rows, name)
    if memory is None:
        raise Problem(f"There is no memory {name!r}.", "", "List them with `journeyman memory list --all`.")
    return memory


def reaches(folder: str = "", agent: str = "", session: str = "") -> tuple[tuple[str, str], ...]:
    """What a run in this folder, by this agent, in this session may be told."""
    places = (("folder", folder), ("agent", agent), ("session", session))
    return (EVERYWHERE, *((reach, place) for reach, place in places if place))


def edited(memory: Memory, text: str) -> Said:
    """The same in other words."""
    return reworded(memory.said, text)
