"""Saves many memories: compares them while other writers are not blocked, then saves all in one transaction."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from core.domain.ids import memory_id
from core.domain.memory import Memory, MemoryContent, fold
from core.memory.ranking import NO_SIMILARITIES
from core.memory.saving import (
    NO_RELATED,
    MemorySource,
    SaveResult,
    find_same_or_conflicting,
    link_conflict,
    save,
)
from core.store.memory_records import MemoryRecords


class _PlannedSave(NamedTuple):
    """A planned save: of a new memory, or of further evidence for the memory `same_id`, which says the same."""

    content: MemoryContent
    pinned: bool
    same_id: str | None = None
    new: Memory | None = None
    conflict_ids: tuple[str, ...] = ()


class BulkSave:
    """Plans and commits the saves of one batch.

    Each memory is compared with the stored memories, and with the earlier memories of the batch, which are in
    `scratch`.
    """

    def __init__(self, scratch: MemoryRecords, source: MemorySource, at: int) -> None:
        self._scratch = scratch
        self._source = source
        self._at = at
        self._planned: list[_PlannedSave] = []

    def add(
        self,
        rows: MemoryRecords,
        content: MemoryContent,
        pinned: bool,
        similarities: Mapping[int, float] = NO_SIMILARITIES,
    ) -> None:
        """Compare validated content with the stored memories and plan its save; `similarities` is as for `save`."""
        stored = find_same_or_conflicting(rows, content, similarities)
        in_batch = find_same_or_conflicting(self._scratch, content) if stored.same is None else NO_RELATED
        if same := stored.same or in_batch.same:
            self._planned.append(_PlannedSave(content, pinned, same_id=same.id))
            return
        creation = self._source.change(memory_id(), 1, self._at, "created", content)
        self._scratch.add_all([creation])
        conflict_ids = tuple(memory.id for memory in (*stored.conflicts, *in_batch.conflicts))
        self._planned.append(_PlannedSave(content, pinned, new=fold([creation]), conflict_ids=conflict_ids))

    def commit(self, rows: MemoryRecords) -> list[SaveResult]:
        """Save all planned memories, within a transaction of the caller; return the results in order."""
        new = [plan.new for plan in self._planned if plan.new]
        rows.add_all([self._source.change(memory.id, 1, self._at, "created", memory.content) for memory in new])
        return [self._commit_one(rows, plan) for plan in self._planned]

    def _commit_one(self, rows: MemoryRecords, plan: _PlannedSave) -> SaveResult:
        result = self._link_conflicts(rows, plan.new, plan.conflict_ids) if plan.new else self._reinforce(rows, plan)
        if not plan.pinned or result.memory.pinned:
            return result
        pinning = self._source.change(result.memory.id, result.memory.version + 1, self._at, "pinned")
        return replace(result, memory=rows.write(pinning) or result.memory)

    def _reinforce(self, rows: MemoryRecords, plan: _PlannedSave) -> SaveResult:
        same = rows.get(plan.same_id) if plan.same_id else None
        if same is None:  # the memory was erased after the comparison
            return save(rows, plan.content, self._source, self._at)
        reinforcement = self._source.change(same.id, same.version + 1, self._at, "reinforced")
        return SaveResult("reinforced", rows.write(reinforcement) or same)

    def _link_conflicts(self, rows: MemoryRecords, memory: Memory, conflict_ids: tuple[str, ...]) -> SaveResult:
        conflicts = [conflict for conflict_id in conflict_ids if (conflict := rows.get(conflict_id))]
        for conflict in conflicts:
            memory = link_conflict(rows, memory, conflict, self._source, self._at)
        return SaveResult("created", memory, tuple(conflicts))
