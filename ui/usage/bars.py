"""The data of the usage plot: bars for one or more days, divided by model."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

from core.store.usage import UsageRow
from core.timeline.usage_totals import UsageTotals, group_usage, sum_usage
from ui.usage.formatting import OTHER_MODELS, Measure, measure_value

SPANS: Final = (1, 7, 28, 91, 364)  # possible numbers of days per bar; the smallest for which all bars fit is used
MAX_COLORED: Final = 5  # models with a color of their own


class Bar(NamedTuple):
    """The usage from day `first` to `last`. `parts` are the sums by model, in the order of `ranked_models`."""

    first: str
    last: str
    whole: UsageTotals
    parts: tuple[UsageTotals, ...]


def ranked_models(rows: Sequence[UsageRow], measure: Measure) -> list[str]:
    """Return the models with the highest usage, highest first, followed by OTHER_MODELS if there are more."""
    models = sorted(group_usage(rows, "model"), key=lambda totals: -measure_value(totals, measure))
    names = [totals.name for totals in models]
    return names if len(names) <= MAX_COLORED + 1 else [*names[:MAX_COLORED], OTHER_MODELS]


def make_bars(rows: Sequence[UsageRow], first: date, last: date, max_bars: int, models: Sequence[str]) -> list[Bar]:
    """Return about `max_bars` bars at most for the days from `first` to `last`, including days without usage."""
    days = (last - first).days + 1
    span = next((span for span in SPANS if days / span <= max_bars), SPANS[-1])
    starts = [first + timedelta(days=index * span) for index in range(-(-days // span))]
    groups: list[list[UsageRow]] = [[] for _ in starts]
    for row in rows:
        index = (date.fromisoformat(row.day) - first).days // span
        if 0 <= index < len(groups):
            groups[index].append(row)
    ends = [min(start + timedelta(days=span - 1), last) for start in starts]
    return [_make_bar(start, end, group, models) for start, end, group in zip(starts, ends, groups, strict=True)]


def _make_bar(first: date, last: date, rows: list[UsageRow], models: Sequence[str]) -> Bar:
    def sum_of(model: str) -> UsageTotals:
        if model == OTHER_MODELS:
            return sum_usage((row for row in rows if row.model not in models), model)
        return sum_usage((row for row in rows if row.model == model), model)

    parts = tuple(sum_of(model) for model in models)
    return Bar(first.isoformat(), last.isoformat(), whole=sum_usage(rows), parts=parts)


def ticks(highest: float, measure: Measure) -> list[float]:
    """Return the values for the grid lines: up to five round numbers from 0 to at least `highest`."""
    if highest <= 0:
        return [0.0]
    steps = TIME_STEPS if measure == "time" else _round_steps(highest)
    step = next((step for step in steps if highest / step <= 4), highest / 4)
    count = int(-(-highest // step))
    return [step * index for index in range(count + 1)]


SECOND: Final = 1_000_000.0
TIME_STEPS: Final = tuple(
    seconds * SECOND
    for seconds in (0.1, 0.5, 1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400)
)


def _round_steps(highest: float) -> list[float]:
    """Return candidates for the distance between grid lines: 1, 2 and 5 times the powers of ten near `highest`."""
    power = 1e-6
    while power * 100 < highest:
        power *= 10
    return [factor * power * scale for scale in (1, 10, 100) for factor in (1, 2, 5)]
