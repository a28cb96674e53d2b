"""Aligns two runs row by row, to show where they agree, where they diverge, and what each of them cost."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from core.domain.clock import SECOND
from core.domain.steps import Step
from core.timeline.used_knowledge import UsedKnowledge

EXACT_ROWS = 4000  # rows compared exactly; beyond that, difflib's heuristic ignores frequent rows


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """Two corresponding rows, or one row without a counterpart. `equal` means equal in kind and object."""

    a: Step | None
    b: Step | None
    equal: bool

    @property
    def same_status(self) -> bool:
        """Whether both rows exist and ended with the same status."""
        return self.a is not None and self.b is not None and self.a.status == self.b.status


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Sums over the numbered rows. `cost` is in US dollars, or None if the price of no reply is known."""

    steps: int
    failed: int
    seconds: float
    tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two runs aligned row by row.

    `first_difference` is the index of the first pair that differs in what was done or how it ended; None if no pair
    differs.
    """

    pairs: tuple[AlignedPair, ...]
    first_difference: int | None
    a: RunTotals
    b: RunTotals
    used_a: UsedKnowledge = UsedKnowledge()
    used_b: UsedKnowledge = UsedKnowledge()

    @property
    def equal(self) -> int:
        """The number of equal pairs."""
        return sum(pair.equal for pair in self.pairs)


def align_runs(a: Sequence[Step], b: Sequence[Step]) -> Alignment:
    """Align two runs by their numbered rows."""
    left, right = [s for s in a if s.number], [s for s in b if s.number]
    pairs = tuple(_pairs(left, right))
    first_difference = next((index for index, pair in enumerate(pairs) if not (pair.equal and pair.same_status)), None)
    return Alignment(pairs, first_difference, totals(a), totals(b))


def totals(steps: Sequence[Step]) -> RunTotals:
    """Sum up the numbered rows. `seconds` excludes the time spent waiting for the user's answers to questions."""
    rows = [step for step in steps if step.number]
    cost = sum(step.cost for step in rows)
    is_priced = cost > 0 or any(step.metrics.get("priced") for step in steps if step.kind == "run")
    duration = sum(
        max(0, step.ended_at - step.started_at) for step in rows if step.ended_at and step.kind != "question"
    )
    return RunTotals(
        len(rows),
        sum(step.status == "failed" for step in rows),
        duration / SECOND,
        sum(step.tokens for step in rows),
        cost if is_priced else None,
    )


def _pairs(a: list[Step], b: list[Step]) -> Iterator[AlignedPair]:
    """Align the rows. The common start and end are matched first, so that similar long runs are cheap to compare."""
    keys_a, keys_b = [_key(step) for step in a], [_key(step) for step in b]
    start = _common(keys_a, keys_b)
    end = _common(keys_a[start:][::-1], keys_b[start:][::-1])
    yield from (AlignedPair(one, other, True) for one, other in zip(a[:start], b[:start], strict=True))
    middle_a, middle_b = keys_a[start : len(a) - end], keys_b[start : len(b) - end]
    long = max(len(middle_a), len(middle_b)) > EXACT_ROWS
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, middle_a, middle_b, autojunk=long).get_opcodes():
        for offset in range(max(a2 - a1, b2 - b1)):
            one = a[start + a1 + offset] if a1 + offset < a2 else None
            other = b[start + b1 + offset] if b1 + offset < b2 else None
            yield AlignedPair(one, other, tag == "equal")
    yield from (AlignedPair(one, other, True) for one, other in zip(a[len(a) - end :], b[len(b) - end :], strict=True))


def _key(step: Step) -> Hashable:
    """Return what two rows must have in common to be equal. Thinking rows are always equal, whatever their text."""
    return step.kind if step.kind == "thinking" else (step.kind, step.object)


def _common(a: list[Hashable], b: list[Hashable]) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((index for index, (item_a, item_b) in pairs if item_a != item_b), min(len(a), len(b)))
