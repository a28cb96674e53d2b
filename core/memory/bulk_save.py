"""Saves many memories: compares them while other connections can write, then saves all in one transaction."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from core.domain.ids import memory_id
from core.domain.memory import Memory, MemoryContent, fold
from core.memory.ranking import NO_SIMILARITIES
from core.memory.saving import MemorySource, SaveResult, find_same_or_conflicting, link_conflict, save
from core.store.memory_records import MemoryRecords


class _PlannedSave(NamedTuple):
    """A planned save. `known` is the ID of a stored memory that says the same; if empty, `made` is the new memory."""

    said: MemoryContent
    pinned: bool
    known: str = ""
    made: Memory | None = None
    others: tuple[str, ...] = ()


class BulkSave:
    """Plans and commits the saves of one batch.

    Each memory is compared with the stored memories and with the earlier memories of the batch, which are in `apart`.
    """

    def __init__(self, apart: MemoryRecords, source: MemorySource, at: int) -> None:
        self._apart = apart
        self._source = source
        self._at = at
        self._planned: list[_PlannedSave] = []

    def add(
        self, rows: MemoryRecords, said: MemoryContent, pinned: bool, means: Mapping[int, float] = NO_SIMILARITIES
    ) -> None:
        """Plan the save of validated content."""
        same, others = find_same_or_conflicting(rows, said, means)
        if same is None:
            same, more = find_same_or_conflicting(self._apart, said)
            others = (*others, *more)
        if same:
            self._planned.append(_PlannedSave(said, pinned, same.id))
            return
        first = self._source.change(memory_id(), 1, self._at, "created", said)
        self._apart.add_all([first])
        self._planned.append(_PlannedSave(said, pinned, "", fold([first]), tuple(other.id for other in others)))

    def commit(self, rows: MemoryRecords) -> list[SaveResult]:
        """Save all planned memories. The caller must have opened a transaction."""
        new = [one.made for one in self._planned if one.made]
        rows.add_all([self._source.change(made.id, 1, self._at, "created", made.content) for made in new])
        return [self._saved(rows, one) for one in self._planned]

    def _saved(self, rows: MemoryRecords, one: _PlannedSave) -> SaveResult:
        kept = self._linked(rows, one.made, one.others) if one.made else self._reinforced(rows, one)
        if not one.pinned or kept.memory.pinned:
            return kept
        pinned = self._source.change(kept.memory.id, kept.memory.version + 1, self._at, "pinned")
        return replace(kept, memory=rows.write(pinned) or kept.memory)

    def _reinforced(self, rows: MemoryRecords, one: _PlannedSave) -> SaveResult:
        known = rows.get(one.known)
        if known is None:  # The memory was erased after the comparison.
            return save(rows, one.said, self._source, self._at)
        again = self._source.change(known.id, known.version + 1, self._at, "reinforced")
        return SaveResult("reinforced", rows.write(again) or known)

    def _linked(self, rows: MemoryRecords, memory: Memory, others: tuple[str, ...]) -> SaveResult:
        there = [other for name in others if (other := rows.get(name))]
        for other in there:
            memory = link_conflict(rows, memory, other, self._source, self._at)
        return SaveResult("created", memory, tuple(there))
