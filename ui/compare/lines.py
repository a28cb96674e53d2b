"""The lines of a comparison: pairs of steps, in which consecutive equal steps are folded into one line."""

from collections.abc import Collection
from typing import Final, NamedTuple

from core.timeline.run_alignment import AlignedPair, Alignment, RunTotals

LEADING_STEPS: Final = 3  # equal steps at the beginning that are not folded
MIN_FOLDED: Final = 3  # minimum number of equal steps that are folded


class ComparisonLine(NamedTuple):
    """A pair of steps, or a fold of `steps` equal pairs that begins at `position`.

    `first` marks the line just before the first difference; this is a fold, or a line without steps.
    """

    position: int
    steps: int = 1
    pair: AlignedPair | None = None
    first: bool = False
    open: bool = False


def is_equal(pair: AlignedPair) -> bool:
    """Return whether both steps did the same and had the same result."""
    return pair.equal and pair.same_status


def comparison_lines(alignment: Alignment, opened: Collection[int]) -> list[ComparisonLine]:
    """Return the lines of an alignment. `opened` are the positions in its pairs of the folds that are expanded."""
    lines: list[ComparisonLine] = []
    position, pairs = 0, alignment.pairs
    while position < len(pairs):
        after_fold = bool(lines) and lines[-1].pair is None
        if position == alignment.first_difference and not after_fold:
            lines.append(ComparisonLine(position, 0, first=True))
        if not is_equal(pairs[position]):
            lines.append(ComparisonLine(position, pair=pairs[position]))
            position += 1
            continue
        end = next((n for n in range(position, len(pairs)) if not is_equal(pairs[n])), len(pairs))
        fold_start = min(LEADING_STEPS, end) if position == 0 else position
        lines += _pair_lines(alignment, position, fold_start)
        lines += _folded_lines(alignment, fold_start, end, opened)
        position = end
    return lines


def _pair_lines(alignment: Alignment, start: int, end: int) -> list[ComparisonLine]:
    return [ComparisonLine(position, pair=alignment.pairs[position]) for position in range(start, end)]


def _folded_lines(alignment: Alignment, start: int, end: int, opened: Collection[int]) -> list[ComparisonLine]:
    """Return the lines for the equal steps from `start` to `end`. They are folded if there are enough."""
    lines = _pair_lines(alignment, start, end)
    if end - start < MIN_FOLDED:
        return lines
    expanded = start in opened
    fold = ComparisonLine(start, end - start, first=end == alignment.first_difference and not expanded, open=expanded)
    return [fold, *lines] if expanded else [fold]


class TotalsDelta(NamedTuple):
    """The totals of the right run minus those of the left one."""

    steps: int
    seconds: float
    tokens: int
    cost: float | None


def totals_delta(a: RunTotals, b: RunTotals) -> TotalsDelta:
    cost = None if a.cost is None or b.cost is None else b.cost - a.cost
    return TotalsDelta(b.steps - a.steps, b.seconds - a.seconds, b.tokens - a.tokens, cost)
