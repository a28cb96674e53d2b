"""The lines of a comparison: pairs of steps, and one line in the place of many that are equal."""

from collections.abc import Collection
from typing import Final, NamedTuple

from core.timeline.align import Alignment, Pair, Totals

BEFORE: Final = 3  # equal steps that show how both began
LEAST: Final = 3  # equal steps that are worth folding


class Line(NamedTuple):
    """A pair, or `steps` equal ones from this place on as one line; `first` where the first difference follows."""

    place: int
    steps: int = 1
    pair: Pair | None = None
    first: bool = False
    open: bool = False


def same(pair: Pair) -> bool:
    """Did both do the same, with the same end?"""
    return pair.equal and pair.same_end


def lines(found: Alignment, opened: Collection[int]) -> list[Line]:
    """`opened` are the places of folds that a person opened."""
    made: list[Line] = []
    place, pairs = 0, found.pairs
    while place < len(pairs):
        if place == found.first and not (made and made[-1].pair is None):
            made.append(Line(place, 0, first=True))
        if not same(pairs[place]):
            made.append(Line(place, pair=pairs[place]))
            place += 1
            continue
        end = next((at for at in range(place, len(pairs)) if not same(pairs[at])), len(pairs))
        shown = min(BEFORE, end) if place == 0 else 0
        made += [Line(at, pair=pairs[at]) for at in range(place, place + shown)]
        made += _folded(found, place + shown, end, opened)
        place = end
    return made


def _folded(found: Alignment, start: int, end: int, opened: Collection[int]) -> list[Line]:
    """Equal steps from `start` to `end`."""
    alike = [Line(at, pair=found.pairs[at]) for at in range(start, end)]
    if end - start < LEAST:
        return alike
    fold = Line(start, end - start, first=end == found.first and start not in opened, open=start in opened)
    return [fold, *alike] if fold.open else [fold]


class Delta(NamedTuple):
    """How much the right run has more than the left one."""

    steps: int
    seconds: float
    tokens: int
    cost: float


def delta(a: Totals, b: Totals) -> Delta:
    return Delta(b.steps - a.steps, b.seconds - a.seconds, b.tokens - a.tokens, b.cost - a.cost)
