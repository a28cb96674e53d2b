"""The operations on memories that the engine uses: save, search, recall, change, undo and forget."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from core.domain.clock import Clock, now
from core.domain.memory import (
    EVERYWHERE,
    Memory,
    MemoryAction,
    MemoryChange,
    MemoryContent,
    MemoryKind,
    MemoryStatus,
    reworded,
)
from core.domain.memory_marks import is_expired
from core.domain.problems import Problem
from core.memory.bulk_save import BulkSave
from core.memory.decay import DecayedMemory, find_decayed
from core.memory.ranking import NO_SIMILARITIES
from core.memory.recall import TOKENS, FoundMemory, RecallResult, find_memories, recall
from core.memory.saving import LearningLimits, MemorySource, SaveResult, compared_scopes, save, validated
from core.memory.semantic_search import SemanticSearch
from core.store.memory_records import MemoryRecords, MemoryUse
from core.store.memory_store import MemoryStore

BATCH = 2_000  # new memories in one transaction


class Memories:
    """All memories. Use it from one event loop.

    Every change is durable when its method returns, and every change except `erase` can be undone with `undo`.
    """

    def __init__(self, store: MemoryStore, clock: Clock = now, semantic_search: SemanticSearch | None = None) -> None:
        self.store = store
        self.semantic_search = semantic_search
        self._clock = clock
        self._known_any = False

    @property
    def has_any(self) -> bool:
        """Whether any memory is stored; without one, runs skip the recall. Once true, it is not checked again."""
        self._known_any = self._known_any or self.store.read(MemoryRecords.has_any)
        return self._known_any

    def validate(self, content: MemoryContent, limits: LearningLimits | None = None) -> MemoryContent:
        """Return content in the form in which it would be saved; raise Problem if it must not be remembered."""
        return validated(content, limits)

    async def save(
        self, content: MemoryContent, source: MemorySource, limits: LearningLimits | None = None
    ) -> SaveResult:
        """Save a memory, or reinforce one that says the same; raise Problem if the content must not be remembered."""
        checked = validated(content, limits)
        similarities = await self.similar_in_scope(checked)
        return await self.store.write(lambda rows: save(rows, checked, source, self._clock(), similarities))

    async def save_all(self, items: Iterable[tuple[MemoryContent, bool]], source: MemorySource) -> list[SaveResult]:
        """Save memories, given as content and whether to pin them: all, or none if one of them is invalid.

        Other writers are not blocked while the memories are compared with the stored ones.
        """
        with self.store.scratch() as scratch:
            batch = BulkSave(scratch, source, self._clock())
            for content, pinned in items:
                checked = validated(content)
                similarities = await self.similar_in_scope(checked)
                self.store.read(partial(batch.add, content=checked, pinned=pinned, similarities=similarities))
                await asyncio.sleep(0)
            return await self.store.write(batch.commit)

    async def similarities(
        self, text: str, scopes: Collection[tuple[str, str]] | None = None, *, is_memory: bool = False
    ) -> Mapping[int, float]:
        """Return the embedding similarity of memories to a question or another memory, by memory key.

        The mapping contains only the most similar memories, and is empty if no embedding model is chosen.
        """
        if self.semantic_search is None or not self.semantic_search.is_on:
            return NO_SIMILARITIES
        indexed_scopes = self.store.read(lambda rows: rows.all_scopes() if scopes is None else rows.scopes(scopes))
        numbers = [scope.number for scope in indexed_scopes]
        return await self.semantic_search.similarities(text, numbers, is_memory=is_memory)

    async def similar_in_scope(self, content: MemoryContent) -> Mapping[int, float]:
        """Return the embedding similarity of the memories that new content is compared with, by memory key."""
        if content.kind == "outcome":  # outcomes are never merged and have no conflicts
            return NO_SIMILARITIES
        return await self.similarities(content.text, compared_scopes(content), is_memory=True)

    def recall(
        self,
        question: str,
        scopes: Collection[tuple[str, str]],
        *,
        already_recalled: Collection[str] = (),
        tokens: int = TOKENS,
        similarities: Mapping[int, float] = NO_SIMILARITIES,
    ) -> RecallResult:
        """Return the memories in these scopes to add to the context of a run, for a question within a token budget."""
        at = self._clock()
        return self.store.read(
            lambda rows: recall(
                rows, question, scopes, at, already_recalled=already_recalled, tokens=tokens, similarities=similarities
            )
        )

    def find(
        self,
        text: str,
        *,
        scopes: Collection[tuple[str, str]] | None = None,
        limit: int = 50,
        similarities: Mapping[int, float] = NO_SIMILARITIES,
    ) -> list[FoundMemory]:
        """Return the memories that match a text, best first. `scopes` None means all scopes."""

        def search(rows: MemoryRecords) -> list[FoundMemory]:
            searched = [(scope.scope, scope.scope_id) for scope in rows.all_scopes()] if scopes is None else scopes
            return find_memories(rows, text, searched, self._clock(), limit, similarities)

        return self.store.read(search)

    def listed(
        self,
        *,
        status: MemoryStatus | None = "active",
        kind: MemoryKind | None = None,
        session: str = "",
        scope: str = "",
        scope_id: str = "",
        limit: int = -1,
    ) -> list[Memory]:
        """Return the memories that match all given filters, newest first."""
        return self.store.read(
            lambda rows: rows.find(
                status=status, kind=kind, session=session, scope=scope, scope_id=scope_id, limit=limit
            )
        )

    def get(self, name: str) -> Memory:
        """Return a memory by its id or an unambiguous prefix; raise Problem if there is none."""
        return self.store.read(lambda rows: _existing(rows, name))

    def changes(self, name: str) -> list[MemoryChange]:
        """Return all changes of a memory in order, given its full id."""
        return self.store.read(lambda rows: rows.changes(name))

    def uses(self, name: str) -> list[MemoryUse]:
        """Return the runs that received a memory, newest first."""
        return self.store.read(lambda rows: rows.uses(memory=name))

    async def edit(self, name: str, content: MemoryContent, *, base: int = 0, by: MemorySource | None = None) -> Memory:
        """Replace the content of a memory. With `base`, raise Problem if that is not the current version."""
        return await self._change(name, "edited", content=validated(content), source=by, base=base)

    async def pin(self, name: str, on: bool = True) -> Memory:
        """Pin or unpin a memory. A pinned memory is always recalled and never decays."""
        return await self._change(name, "pinned" if on else "unpinned")

    async def archive(self, name: str, *, by: MemorySource | None = None) -> Memory:
        """Archive a memory, which is then stored but no longer recalled."""
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

        Return None if the memory no longer exists, because its creation was undone.
        """

        def undo_change(rows: MemoryRecords) -> Memory | None:
            memory = _by_id_or_prefix(rows, name)
            full_id = memory.id if memory else name  # a memory whose creation was undone is found by its full id only
            changes = rows.changes(full_id)
            undone = {change.undoes for change in changes if change.action == "undone"}
            undoable = [
                change.number for change in changes if change.action != "undone" and change.number not in undone
            ]
            chosen = number or max(undoable, default=0)
            if not 1 <= chosen <= len(changes):
                raise Problem("There is nothing to undo.", f"Memory {full_id} has no such change.", "")
            return rows.write(
                MemoryChange(
                    memory=full_id,
                    number=len(changes) + 1,
                    at=self._clock(),
                    action="undone",
                    author="user",
                    undoes=chosen,
                )
            )

        return await self.store.write(undo_change)

    async def forget_all(self, *, session: str = "", folder: str = "") -> list[str]:
        """Forget the memories learned in a session, or those that apply to a folder; return their ids.

        Memories that the user wrote are kept.
        """

        if not session and not folder:
            raise Problem("Nothing was selected.", "", "Give a session or a folder.")

        def forget(rows: MemoryRecords) -> list[str]:
            if session:
                chosen = rows.find(session=session, status=None)
            else:
                chosen = rows.find(scope="folder", scope_id=folder, status=None)
            memories = [memory for memory in chosen if memory.status != "forgotten" and memory.author != "user"]
            for memory in memories:
                rows.write(
                    MemoryChange(
                        memory=memory.id,
                        number=memory.version + 1,
                        at=self._clock(),
                        action="forgotten",
                        author="user",
                    )
                )
            return [memory.id for memory in memories]

        return await self.store.write(forget)

    def decayed(self) -> list[DecayedMemory]:
        """Return the memories that `archive_decayed` would archive now."""
        at = self._clock()
        return self.store.read(lambda rows: find_decayed(rows.find(), at))

    async def archive_decayed(self) -> list[str]:
        """Archive decayed and expired memories; return their ids.

        Memories that the user wrote or pinned do not decay, but expire if they have an expiry date.
        """
        at = self._clock()
        decayed = self.decayed()
        if not decayed:
            return []

        def archive(rows: MemoryRecords) -> list[str]:
            archived = []
            for found, reason in decayed:
                memory = rows.get(found.id)  # It may have changed since.
                if memory is None or memory.status != "active":
                    continue
                if memory.never_decays and not is_expired(memory.content, at):
                    continue
                rows.write(
                    MemoryChange(
                        memory=memory.id,
                        number=memory.version + 1,
                        at=at,
                        action="archived",
                        author="run",
                        reason=reason,
                    )
                )
                archived.append(memory.id)
            return archived

        return await self.store.write(archive)

    async def rebuild_missing(self) -> int:
        """Rebuild all memories from their changes, if a salvaged data file contains only these; return their number."""
        return 0 if self.has_any else await self.store.write(MemoryRecords.rebuild_missing)

    async def record_uses(self, uses: Sequence[MemoryUse]) -> None:
        """Record which memories a run received, and whether it used them."""
        await self.store.write(lambda rows: rows.record_uses(uses))

    async def _change(
        self,
        name: str,
        action: MemoryAction,
        *,
        content: MemoryContent | None = None,
        source: MemorySource | None = None,
        base: int = 0,
    ) -> Memory:
        origin = source or MemorySource("user")

        def write(rows: MemoryRecords) -> Memory:
            memory = _existing(rows, name)
            if base and memory.version != base:
                raise Problem(
                    "The memory was changed in the meantime.",
                    f"It is at version {memory.version}, not {base}.",
                    "Reload it and try again.",
                )
            if _has_no_effect(memory, action) or content == memory.content:
                return memory
            change = MemoryChange(
                memory=memory.id,
                number=memory.version + 1,
                at=self._clock(),
                action=action,
                author=origin.author,
                content=content,
                session=origin.session,
                seq=origin.seq,
                reason=origin.reason,
            )
            return rows.write(change) or memory

        return await self.store.write(write)


def _has_no_effect(memory: Memory, action: MemoryAction) -> bool:
    """Return whether a memory is already in the state that a change would produce."""
    match action:
        case "pinned" | "unpinned":
            return memory.pinned == (action == "pinned")
        case "restored":
            return memory.status == "active"
        case "archived" | "forgotten":
            return memory.status == action
        case _:
            return False


def _by_id_or_prefix(rows: MemoryRecords, name: str) -> Memory | None:
    if memory := rows.get(name):
        return memory
    ids = rows.ids_starting_with(name) if len(name) > 1 else []
    return rows.get(ids[0]) if len(ids) == 1 else None


def _existing(rows: MemoryRecords, name: str) -> Memory:
    """Return a memory by its ID or an unambiguous prefix; raise Problem if there is none."""
    memory = _by_id_or_prefix(rows, name)
    if memory is None:
        raise Problem(f"There is no memory {name!r}.", "", "List them with `journeyman memory list --all`.")
    return memory


def scopes_of_run(folder: str = "", agent: str = "", session: str = "") -> tuple[tuple[str, str], ...]:
    """Return the scopes from which a run in this folder, by this agent, in this session may receive memories."""
    scopes = (("folder", folder), ("agent", agent), ("session", session))
    return (EVERYWHERE, *((scope, scope_id) for scope, scope_id in scopes if scope_id))


def with_text(memory: Memory, text: str) -> MemoryContent:
    """Return the content of a memory with another sentence, see `reworded`."""
    return reworded(memory.content, text)
