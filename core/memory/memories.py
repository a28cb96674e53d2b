"""The operations on memories that the engine uses: save, search, recall, change, undo, forget."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from core.domain.clock import Clock, now
from core.domain.ids import memory_id
from core.domain.memory import Memory, MemoryAction, MemoryChange, MemoryContent, MemoryKind, MemoryStatus, reworded
from core.domain.problems import Problem
from core.memory.bulk_save import BulkSave
from core.memory.decay import find_decayed
from core.memory.ranking import NO_SIMILARITIES
from core.memory.recall import TOKENS, FoundMemory, RecallResult, find_memories, recall
from core.memory.saving import LearningLimits, MemorySource, SaveResult, save, validated
from core.memory.semantic_search import SemanticSearch
from core.store.memory_records import MemoryRecords, MemoryUse
from core.store.memory_store import MemoryStore

EVERYWHERE = ("everywhere", "")
BATCH = 2_000  # new memories in one transaction


class Memories:
    """All memories. Use it from one event loop.

    Every change is durable when its method returns. All changes but `erase` can be undone with `undo`.
    """

    def __init__(self, book: MemoryStore, clock: Clock = now, semantic_search: SemanticSearch | None = None) -> None:
        self.store = book
        self.semantic_search = semantic_search
        self._clock = clock
        self._known_any = False

    @property
    def has_any(self) -> bool:
        """Whether any memory is stored. Once true, it is not checked again. Without memories, recall is skipped."""
        self._known_any = self._known_any or self.store.read(MemoryRecords.has_any)
        return self._known_any

    def validate(self, said: MemoryContent, limits: LearningLimits | None = None) -> MemoryContent:
        """Return the content as it would be saved. Raise Problem if it must not be remembered."""
        return validated(said, limits)

    async def save(self, said: MemoryContent, source: MemorySource, limits: LearningLimits | None = None) -> SaveResult:
        """Save a memory, or add evidence to an equal one. Raise Problem if the content must not be remembered."""
        good = validated(said, limits)
        means = (
            NO_SIMILARITIES
            if good.kind == "outcome"
            else await self.similarities(good.text, [(good.scope, good.scope_id)])
        )
        return await self.store.write(lambda rows: save(rows, good, source, self._clock(), means))

    async def save_all(self, told: Iterable[tuple[MemoryContent, bool]], source: MemorySource) -> list[SaveResult]:
        """Save memories, given as pairs of content and pinned flag: all of them, or none if one is invalid.

        Other writers are not blocked while each memory is compared with the stored memories.
        """
        with self.store.scratch() as apart:
            many = BulkSave(apart, source, self._clock())
            for said, pinned in told:
                good = validated(said)
                means = (
                    NO_SIMILARITIES
                    if good.kind == "outcome"
                    else await self.similarities(good.text, [(good.scope, good.scope_id)])
                )
                self.store.read(partial(many.add, said=good, pinned=pinned, means=means))
                await asyncio.sleep(0)
            return await self.store.write(many.commit)

    async def similarities(self, text: str, wanted: Collection[tuple[str, str]] | None = None) -> Mapping[int, float]:
        """Return the embedding similarity of memories to a text, by memory key. Empty if no model is chosen."""
        if self.semantic_search is None or not self.semantic_search.is_on:
            return NO_SIMILARITIES
        places = self.store.read(lambda rows: rows.all_scopes() if wanted is None else rows.scopes(wanted))
        return await self.semantic_search.similarities(text, [place.number for place in places])

    def recall(
        self,
        question: str,
        scopes: Collection[tuple[str, str]],
        *,
        already_recalled: Collection[str] = (),
        tokens: int = TOKENS,
        near: Mapping[int, float] = NO_SIMILARITIES,
    ) -> RecallResult:
        """Return the memories to add to the context of a run for this question, from these scopes."""
        at = self._clock()
        return self.store.read(
            lambda rows: recall(rows, question, scopes, at, told=already_recalled, tokens=tokens, near=near)
        )

    def find(
        self, text: str, *, scopes: Collection[tuple[str, str]] | None = None, limit: int = 50,
        near: Mapping[int, float] = NO_SIMILARITIES,
    ) -> list[FoundMemory]:  # fmt: skip
        """Return the memories that match a text, best first. `scopes` None searches all scopes."""

        def look(rows: MemoryRecords) -> list[FoundMemory]:
            places = [(one.scope, one.scope_id) for one in rows.all_scopes()] if scopes is None else scopes
            return find_memories(rows, text, places, self._clock(), limit, near)

        return self.store.read(look)

    def listed(
        self,
        *,
        standing: MemoryStatus | None = "active",
        kind: MemoryKind | None = None,
        session: str = "",
        reach: str = "",
        place: str = "",
        limit: int = -1,
    ) -> list[Memory]:
        """Return the memories that match every given filter, newest first."""
        return self.store.read(
            lambda rows: rows.find(
                status=standing, kind=kind, session=session, scope=reach, scope_id=place, limit=limit
            )
        )

    def get(self, name: str) -> Memory:
        """Return a memory by its ID or an unambiguous prefix. Raise Problem if there is no such memory."""
        memory = self.store.read(lambda rows: _named(rows, name))
        if memory is None:
            raise Problem(f"There is no memory {name!r}.", "", "List them with `journeyman memory list --all`.")
        return memory

    def changes(self, name: str) -> list[MemoryChange]:
        """Return all changes of a memory, in order."""
        return self.store.read(lambda rows: rows.changes(name))

    def uses(self, name: str) -> list[MemoryUse]:
        """Return the runs that received the memory, newest first."""
        return self.store.read(lambda rows: rows.uses(memory=name))

    async def edit(self, name: str, said: MemoryContent, *, base: int = 0, by: MemorySource | None = None) -> Memory:
        """Change the content of a memory. With `base`, raise Problem unless that is still the current version."""
        good = validated(said)
        return await self._change(name, "edited", said=good, source=by, base=base)

    async def pin(self, name: str, on: bool = True) -> Memory:
        """Pin or unpin a memory. A pinned memory is always recalled and never decays."""
        return await self._change(name, "pinned" if on else "unpinned")

    async def archive(self, name: str, *, by: MemorySource | None = None) -> Memory:
        """Archive a memory. It stays stored but is never recalled."""
        return await self._change(name, "archived", source=by)

    async def restore(self, name: str) -> Memory:
        """Make an archived or forgotten memory active again."""
        return await self._change(name, "restored")

    async def forget(self, name: str, *, by: MemorySource | None = None) -> Memory:
        """Hide a memory from recall and lists. It can be restored until it is erased."""
        return await self._change(name, "forgotten", source=by)

    async def erase(self, name: str) -> None:
        """Permanently delete a memory with its history."""
        await self.store.write(lambda rows: rows.erase(_existing(rows, name).id))

    async def undo(self, name: str, number: int = 0) -> Memory | None:
        """Undo the change with this number, or for 0 the last change that has not been undone.

        Return None if the memory no longer exists afterwards.
        """

        def take_back(rows: MemoryRecords) -> Memory | None:
            memory = _named(rows, name)
            known = memory.id if memory else name  # The changes of an undone memory are found by its full ID only.
            told = rows.changes(known)
            back = {one.undoes for one in told if one.action == "undone"}
            counting = [one.number for one in told if one.action != "undone" and one.number not in back]
            chosen = number or (counting[-1] if counting else 0)
            if not 1 <= chosen <= len(told):
                raise Problem("There is nothing to undo.", f"Memory {known} has no such change.", "")
            return rows.write(MemoryChange(known, len(told) + 1, self._clock(), "undone", "user", undoes=chosen))

        return await self.store.write(take_back)

    async def forget_all(self, *, session: str = "", folder: str = "") -> list[str]:
        """Forget the memories learned in a session, or those that apply to a folder, and return their IDs.

        Memories that the user wrote are kept.
        """

        def forget(rows: MemoryRecords) -> list[str]:
            of_folder = rows.find(scope="folder", scope_id=folder, status=None) if folder else []
            chosen = rows.find(session=session, status=None) if session else of_folder
            gone = [one for one in chosen if one.status != "forgotten" and one.author != "user"]
            for one in gone:
                rows.write(MemoryChange(one.id, one.version + 1, self._clock(), "forgotten", "user"))
            return [one.id for one in gone]

        if not session and not folder:
            raise Problem("Nothing was selected.", "", "Give a session or a folder.")
        return await self.store.write(forget)

    async def add_all_unmatched(self, said: Iterable[tuple[MemoryContent, MemorySource]]) -> int:
        """Add many new memories and return their number. They are validated but not compared with stored memories."""
        at, given = self._clock(), list(said)
        names = sorted(memory_id() for _ in given)  # IDs in ascending order are appended to the index faster.
        changes = [
            MemoryChange(
                name, 1, at, "created", source.author, validated(one), source.session, source.seq, source.reason
            )
            for name, (one, source) in zip(names, given, strict=True)
        ]
        for start in range(0, len(changes), BATCH):
            await self.store.write(partial(MemoryRecords.add_all, changes=changes[start : start + BATCH]))
        return len(changes)

    async def archive_decayed(self) -> list[str]:
        """Archive the memories whose relevance has decayed and return their IDs.

        Memories that the user wrote or pinned are kept.
        """
        at = self._clock()
        gone = self.store.read(lambda rows: [(one.id, why) for one, why in find_decayed(rows.find(), at)])

        def archive(rows: MemoryRecords) -> list[str]:
            done = []
            for name, why in gone:
                memory = rows.get(name)
                if memory and memory.status == "active" and not memory.never_decays:
                    rows.write(MemoryChange(name, memory.version + 1, at, "archived", "run", reason=why))
                    done.append(name)
            return done

        return await self.store.write(archive) if gone else []

    async def rebuild_missing(self) -> int:
        """Rebuild memories of which a salvaged data file contains only the changes. Return their number."""
        return 0 if self.has_any else await self.store.write(MemoryRecords.rebuild_missing)

    async def record_uses(self, uses: Sequence[MemoryUse]) -> None:
        """Record which memories a run received, and whether it used them."""
        await self.store.write(lambda rows: rows.record_uses(uses))

    async def _change(
        self,
        name: str,
        did: MemoryAction,
        *,
        said: MemoryContent | None = None,
        source: MemorySource | None = None,
        base: int = 0,
    ) -> Memory:
        by = source or MemorySource("user")

        def write(rows: MemoryRecords) -> Memory:
            memory = _existing(rows, name)
            if base and memory.version != base:
                raise Problem(
                    "The memory was changed in the meantime.",
                    f"It is at version {memory.version}, not {base}.",
                    "Reload it and try again.",
                )
            if _has_no_effect(memory, did) or said == memory.content:
                return memory
            change = MemoryChange(
                memory.id, memory.version + 1, self._clock(), did, by.author, said, by.session, by.seq, by.reason
            )
            return rows.write(change) or memory

        return await self.store.write(write)


def _has_no_effect(memory: Memory, did: MemoryAction) -> bool:
    """Return whether the memory is already in the state that the change would produce."""
    standing = {"archived": "archived", "restored": "active", "forgotten": "forgotten"}.get(did)
    return memory.status == standing or (did in {"pinned", "unpinned"} and memory.pinned == (did == "pinned"))


def _named(rows: MemoryRecords, name: str) -> Memory | None:
    if memory := rows.get(name):
        return memory
    found = rows.ids_starting_with(name) if len(name) > 1 else []
    return rows.get(found[0]) if len(found) == 1 else None


def _existing(rows: MemoryRecords, name: str) -> Memory:
    memory = _named(rows, name)
    if memory is None:
        raise Problem(f"There is no memory {name!r}.", "", "List them with `journeyman memory list --all`.")
    return memory


def scopes_of_run(folder: str = "", agent: str = "", session: str = "") -> tuple[tuple[str, str], ...]:
    """Return the scopes whose memories a run in this folder, by this agent, in this session may receive."""
    places = (("folder", folder), ("agent", agent), ("session", session))
    return (EVERYWHERE, *((reach, place) for reach, place in places if place))


def with_text(memory: Memory, text: str) -> MemoryContent:
    """Return the content of a memory with another text."""
    return reworded(memory.content, text)
