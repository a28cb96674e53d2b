"""The lines of a comparison: pairs of steps, with equal steps folded into one line."""

from collections.abc import Collection
from typing import Final, NamedTuple

from core.timeline.run_alignment import AlignedPair, Alignment, RunTotals

LEADING_STEPS: Final = 3  # equal steps that stay visible at the beginning
MIN_FOLDED: Final = 3  # fewest equal steps that are folded


class ComparisonLine(NamedTuple):
    """A pair of steps, or a fold of `steps` equal pairs starting at `position`.

    `first` marks the line just before the first difference: a fold, or a line without steps.
    """

    position: int
    steps: int = 1
    pair: AlignedPair | None = None
    first: bool = False
    open: bool = False


def is_equal(pair: AlignedPair) -> bool:
    """Return whether both steps did the same with the same result."""
    return pair.equal and pair.same_status


def comparison_lines(found: Alignment, opened: Collection[int]) -> list[ComparisonLine]:
    """Return the lines of an alignment; `opened` are the positions of the folds that the user expanded."""
    made: list[ComparisonLine] = []
    place, pairs = 0, found.pairs
    while place < len(pairs):
        if place == found.first_difference and not (made and made[-1].pair is None):
            made.append(ComparisonLine(place, 0, first=True))
        if not is_equal(pairs[place]):
            made.append(ComparisonLine(place, pair=pairs[place]))
            place += 1
            continue
        end = next((at for at in range(place, len(pairs)) if not is_equal(pairs[at])), len(pairs))
        shown = min(LEADING_STEPS, end) if place == 0 else 0
        made += [ComparisonLine(at, pair=pairs[at]) for at in range(place, place + shown)]
        made += _folded(found, place + shown, end, opened)
        place = end
    return made


def _folded(found: Alignment, start: int, end: int, opened: Collection[int]) -> list[ComparisonLine]:
    """Return the lines for the equal steps from `start` to `end`, folded if there are enough."""
    alike = [ComparisonLine(at, pair=found.pairs[at]) for at in range(start, end)]
    if end - start < MIN_FOLDED:
        return alike
    fold = ComparisonLine(
        start, end - start, first=end == found.first_difference and start not in opened, open=start in opened
    )
    return [fold, *alike] if fold.open else [fold]


class TotalsDelta(NamedTuple):
    """The totals of the right run minus those of the left one."""

    steps: int
    seconds: float
    tokens: int
    cost: float


def totals_delta(a: RunTotals, b: RunTotals) -> TotalsDelta:
    return TotalsDelta(b.steps - a.steps, b.seconds - a.seconds, b.tokens - a.tokens, b.cost - a.cost)
