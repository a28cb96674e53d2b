"""What the plot draws: days gathered into bars, each made of the models that were asked."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

from core.store.usage import Used
from core.timeline.spending import Sum, grouped, total
from ui.usage.words import OTHERS, Measure, value

SPANS: Final = (1, 7, 28, 91, 364)  # days in a bar: as many as it takes to have room for each
NAMED: Final = 5  # models that have a colour of their own


class Bar(NamedTuple):
    """Days from `first` to `last`; `parts` are the models of `names` in that order, the one named OTHERS last."""

    first: str
    last: str
    whole: Sum
    parts: tuple[Sum, ...]


def names(rows: Sequence[Used], measure: Measure) -> list[str]:
    """The models with a colour, those that used most first, and the rest under one name."""
    models = sorted(grouped(rows, "model"), key=lambda one: -value(one, measure))
    found = [one.name for one in models]
    return found if len(found) <= NAMED + 1 else [*found[:NAMED], OTHERS]


def bars(rows: Sequence[Used], first: date, last: date, most: int, models: Sequence[str]) -> list[Bar]:
    """From the first to the last day, also those on which nothing was used; at most about `most`."""
    days = (last - first).days + 1
    span = next((span for span in SPANS if days / span <= most), SPANS[-1])
    starts = [first + timedelta(days=place * span) for place in range(-(-days // span))]
    groups: list[list[Used]] = [[] for _ in starts]
    for row in rows:
        place = (date.fromisoformat(row.day) - first).days // span
        if 0 <= place < len(groups):
            groups[place].append(row)
    ends = [min(start + timedelta(days=span - 1), last) for start in starts]
    return [_bar(start, end, group, models) for start, end, group in zip(starts, ends, groups, strict=True)]


def _bar(first: date, last: date, rows: list[Used], models: Sequence[str]) -> Bar:
    def of(model: str) -> Sum:
        mine = [row for row in rows if (row.model == model if model != OTHERS else row.model not in models)]
        return total(mine, model)

    return Bar(first.isoformat(), last.isoformat(), total(rows), tuple(of(model) for model in models))


def ticks(highest: float, measure: Measure) -> list[float]:
    """Three or four round figures from 0 to at least the highest."""
    if highest <= 0:
        return [0.0]
    steps = TIME_STEPS if measure == "time" else _round_steps(highest)
    step = next((step for step in steps if highest / step <= 4), highest / 4)
    count = int(-(-highest // step))
    return [step * place for place in range(count + 1)]


SECOND: Final = 1_000_000.0
TIME_STEPS: Final = tuple(
    seconds * SECOND
    for seconds in (0.1, 0.5, 1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400)
)


def _round_steps(highest: float) -> list[float]:
    """1, 2 and 5 at every power of ten near it."""
    power = 1e-6
    while power * 100 < highest:
        power *= 10
    return [factor * power * scale for scale in (1, 10, 100) for factor in (1, 2, 5)]
