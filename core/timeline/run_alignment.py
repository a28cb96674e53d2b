"""Aligns two runs row by row, to show where they agree and diverge, and what each of them cost."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import MappingProxyType

from core.domain.clock import SECOND
from core.domain.steps import Step
from core.timeline.used_knowledge import UsedKnowledge

EXACT_ROWS = 4000  # rows compared exactly; in longer runs, difflib ignores rows that occur often


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """Two corresponding rows, or one row without a counterpart.

    `equal` means that kind, object and compared arguments are equal.
    """

    a: Step | None
    b: Step | None
    equal: bool

    @property
    def same_status(self) -> bool:
        """Whether there are two rows that ended with the same status."""
        return self.a is not None and self.b is not None and self.a.status == self.b.status

    @property
    def differs_in_arguments(self) -> bool:
        """Whether the rows look the same but their calls had different arguments, such as other contents for a file."""
        return not self.equal and self.a is not None and self.b is not None and _look(self.a) == _look(self.b)


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Totals of the steps of one side of a comparison.

    `cost` is in US dollars, None if the price of no reply is known. `seconds` is the total duration of the runs, as the
    page of the session shows it.
    """

    steps: int
    failed: int
    seconds: float
    tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Alignment:
    """Two runs, aligned row by row.

    `first_difference` is the index of the first pair that differs in what was done or in how it ended; None if there is
    none.
    """

    pairs: tuple[AlignedPair, ...]
    first_difference: int | None
    a: RunTotals
    b: RunTotals
    used_a: UsedKnowledge = UsedKnowledge()
    used_b: UsedKnowledge = UsedKnowledge()

    @property
    def equal(self) -> int:
        """The number of pairs in which both rows did the same and ended the same way."""
        return sum(pair.equal and pair.same_status for pair in self.pairs)


def align_runs(
    a: Sequence[Step],
    b: Sequence[Step],
    arguments_a: Mapping[str, str] = MappingProxyType({}),
    arguments_b: Mapping[str, str] = MappingProxyType({}),
) -> Alignment:
    """Align two runs by their numbered rows.

    `arguments_a` and `arguments_b` are the arguments to compare, by call ID.
    """
    left, right = [s for s in a if s.number], [s for s in b if s.number]
    keys_a, keys_b = [_key(step, arguments_a) for step in left], [_key(step, arguments_b) for step in right]
    pairs = tuple(_pairs(left, right, keys_a, keys_b))
    first_difference = next((index for index, pair in enumerate(pairs) if not (pair.equal and pair.same_status)), None)
    return Alignment(pairs, first_difference, totals(a), totals(b))


def totals(steps: Sequence[Step]) -> RunTotals:
    """Return the totals of the steps. A run that has not ended lasts until its last row."""
    rows = [step for step in steps if step.number]
    cost = sum(step.cost for step in rows)
    is_priced = cost > 0 or any(step.metrics.get("priced") for step in steps if step.kind == "run")
    last: dict[int, int] = {}
    for step in steps:
        last[step.run] = max(last.get(step.run, 0), step.started_at, step.ended_at)
    runs = [step for step in steps if step.kind == "run"]
    duration = sum(max(0, (step.ended_at or last[step.run]) - step.started_at) for step in runs)
    return RunTotals(
        len(rows),
        sum(step.status == "failed" for step in rows),
        duration / SECOND,
        sum(step.tokens for step in rows),
        cost if is_priced else None,
    )


def _pairs(a: list[Step], b: list[Step], keys_a: list[Hashable], keys_b: list[Hashable]) -> Iterator[AlignedPair]:
    """Yield the aligned rows.

    The common start and end are matched first, so that long similar runs are compared fast.
    """
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


def _key(step: Step, arguments: Mapping[str, str]) -> Hashable:
    """Return what must be the same in two rows for them to be equal."""
    return _look(step), arguments.get(step.key, "")


def _look(step: Step) -> Hashable:
    """Return what the user sees of a row. Rows of reasoning all look the same, whatever their text."""
    return step.kind if step.kind == "thinking" else (step.kind, step.object)


def _common(a: list[Hashable], b: list[Hashable]) -> int:
    """Return how many items at the start of both lists are equal."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((index for index, (item_a, item_b) in pairs if item_a != item_b), min(len(a), len(b)))
