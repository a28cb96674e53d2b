"""The lines of a comparison: pairs of steps, in which consecutive equal steps are folded into one line."""

from collections.abc import Collection
from typing import Final, NamedTuple

from core.timeline.run_alignment import AlignedPair, Alignment, RunTotals

LEADING_STEPS: Final = 3  # equal steps at the beginning that are not folded
MIN_FOLDED: Final = 3  # minimum number of equal steps that are folded


class ComparisonLine(NamedTuple):
    """A pair of steps; without a pair, a fold of `steps` equal pairs that begins at `position`.

    `precedes_difference` marks the line just before the first difference; this is a fold, or a line without steps.
    `is_open` is true for a fold whose pairs are listed below it.
    """

    position: int
    steps: int = 1
    pair: AlignedPair | None = None
    precedes_difference: bool = False
    is_open: bool = False


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
            lines.append(ComparisonLine(position, steps=0, precedes_difference=True))
        if not is_equal(pairs[position]):
            lines.append(ComparisonLine(position, pair=pairs[position]))
            position += 1
            continue
        different = (index for index in range(position, len(pairs)) if not is_equal(pairs[index]))
        end = next(different, len(pairs))
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
    is_open = start in opened
    fold = ComparisonLine(
        position=start,
        steps=end - start,
        precedes_difference=end == alignment.first_difference and not is_open,
        is_open=is_open,
    )
    return [fold, *lines] if is_open else [fold]


class TotalsDelta(NamedTuple):
    """The totals of the right run minus those of the left one. `cost` is None if a cost is unknown."""

    steps: int
    seconds: float
    tokens: int
    cost: float | None


def totals_delta(left: RunTotals, right: RunTotals) -> TotalsDelta:
    return TotalsDelta(
        steps=right.steps - left.steps,
        seconds=right.seconds - left.seconds,
        tokens=right.tokens - left.tokens,
        cost=None if left.cost is None or right.cost is None else right.cost - left.cost,
    )
