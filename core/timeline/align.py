"""Two runs side by side: what they did alike, where they part first, and what the one cost more."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from core.domain.clock import SECOND
from core.domain.steps import Step
from core.timeline.learnt import Learnt

MOST = 4000  # rows of the middle that are compared closely; beyond it common rows are left out of the search


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows that stand beside each other; None where only one side has one. Equal in kind and object?"""

    a: Step | None
    b: Step | None
    equal: bool

    @property
    def same_end(self) -> bool:
        return self.a is not None and self.b is not None and self.a.status == self.b.status


@dataclass(frozen=True, slots=True)
class Totals:
    steps: int
    failed: int
    seconds: float
    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class Alignment:
    """`first` is the place of the first pair that differs, in what was done or how it ended; None where none does."""

    pairs: tuple[Pair, ...]
    first: int | None
    a: Totals
    b: Totals
    learnt_a: Learnt = Learnt()
    learnt_b: Learnt = Learnt()

    @property
    def equal(self) -> int:
        return sum(pair.equal for pair in self.pairs)


def align(a: Sequence[Step], b: Sequence[Step]) -> Alignment:
    """Compare two runs by their rows."""
    left, right = [s for s in a if s.number], [s for s in b if s.number]
    pairs = tuple(_pairs(left, right))
    first = next((place for place, pair in enumerate(pairs) if not (pair.equal and pair.same_end)), None)
    return Alignment(pairs, first, totals(a), totals(b))


def totals(steps: Sequence[Step]) -> Totals:
    """Of the rows a person counts. Time is that of the steps themselves, not of the person between them."""
    counted = [step for step in steps if step.number]
    spent = sum(max(0, step.ended - step.began) for step in counted if step.ended and step.kind != "question")
    return Totals(
        len(counted),
        sum(step.status == "failed" for step in counted),
        spent / SECOND,
        sum(step.tokens for step in counted),
        sum(step.cost for step in counted),
    )


def _pairs(a: list[Step], b: list[Step]) -> Iterator[Pair]:
    """Equal ends are found at once, so that two long runs that differ little cost little."""
    keys_a, keys_b = [_key(step) for step in a], [_key(step) for step in b]
    start = _common(keys_a, keys_b)
    end = _common(keys_a[start:][::-1], keys_b[start:][::-1])
    yield from (Pair(one, other, True) for one, other in zip(a[:start], b[:start], strict=True))
    middle_a, middle_b = keys_a[start : len(a) - end], keys_b[start : len(b) - end]
    long = max(len(middle_a), len(middle_b)) > MOST
    for what, a1, a2, b1, b2 in SequenceMatcher(None, middle_a, middle_b, autojunk=long).get_opcodes():
        for place in range(max(a2 - a1, b2 - b1)):
            one = a[start + a1 + place] if a1 + place < a2 else None
            other = b[start + b1 + place] if b1 + place < b2 else None
            yield Pair(one, other, what == "equal")
    yield from (Pair(one, other, True) for one, other in zip(a[len(a) - end :], b[len(b) - end :], strict=True))


def _key(step: Step) -> Hashable:
    """What was done. A thought is one whatever it names: what follows from it is compared by itself."""
    return step.kind if step.kind == "thinking" else (step.kind, step.object)


def _common(a: list[Hashable], b: list[Hashable]) -> int:
    """How many are equal from the start."""
    return next(
        (place for place, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b))
    )
