"""Many sentences at once, as a file brings them: compared while others write, then kept in one transaction."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from core.domain.ids import memory_id
from core.domain.memory import Memory, Said, fold
from core.memory.keep import Kept, Source, compared, keep, link
from core.memory.rank import NOTHING
from core.store.memory_rows import MemoryRows


class _One(NamedTuple):
    """What is to become of a sentence: `known` says it already, `made` is what it will be where it is new."""

    said: Said
    pinned: bool
    known: str = ""
    made: Memory | None = None
    others: tuple[str, ...] = ()


class Many:
    """Each is compared with what is there and with those before it, which are held `apart`."""

    def __init__(self, apart: MemoryRows, source: Source, at: int) -> None:
        self._apart = apart
        self._source = source
        self._at = at
        self._ones: list[_One] = []

    def compare(self, rows: MemoryRows, said: Said, pinned: bool, means: Mapping[int, float] = NOTHING) -> None:
        """Of what was checked: decide what is to become of it."""
        same, others = compared(rows, said, means)
        if same is None:
            same, more = compared(self._apart, said)
            others = (*others, *more)
        if same:
            self._ones.append(_One(said, pinned, same.id))
            return
        first = self._source.change(memory_id(), 1, self._at, "kept", said)
        self._apart.add_all([first])
        self._ones.append(_One(said, pinned, "", fold([first]), tuple(other.id for other in others)))

    def pour(self, rows: MemoryRows) -> list[Kept]:
        """All of them, in one transaction."""
        new = [one.made for one in self._ones if one.made]
        rows.add_all([self._source.change(made.id, 1, self._at, "kept", made.said) for made in new])
        return [self._settled(rows, one) for one in self._ones]

    def _settled(self, rows: MemoryRows, one: _One) -> Kept:
        kept = self._linked(rows, one.made, one.others) if one.made else self._again(rows, one)
        if not one.pinned or kept.memory.pinned:
            return kept
        pinned = self._source.change(kept.memory.id, kept.memory.version + 1, self._at, "pinned")
        return replace(kept, memory=rows.write(pinned) or kept.memory)

    def _again(self, rows: MemoryRows, one: _One) -> Kept:
        known = rows.memory(one.known)
        if known is None:  # erased since it was compared
            return keep(rows, one.said, self._source, self._at)
        again = self._source.change(known.id, known.version + 1, self._at, "seen again")
        return Kept("seen again", rows.write(again) or known)

    def _linked(self, rows: MemoryRows, memory: Memory, others: tuple[str, ...]) -> Kept:
        there = [other for name in others if (other := rows.memory(name))]
        for other in there:
            memory = link(rows, memory, other, self._source, self._at)
        return Kept("kept", memory, tuple(there))
