"""Token usage and cost, grouped by day, model, folder or agent profile."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from core.store.usage import UsageRow

UsageGrouping = Literal["day", "model", "folder", "agent"]


class UsageTotals(NamedTuple):
    """Totals of token usage, cost and time.

    `cost` is the sum for the replies whose price is known, in US dollars; `unpriced` is the number of other replies.
    `time` is in microseconds.
    """

    name: str = ""
    replies: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0.0
    unpriced: int = 0
    time: int = 0

    @property
    def tokens(self) -> int:
        return self.input + self.output

    @property
    def counted(self) -> bool:
        """Whether tokens were reported. Some external agents and transcripts report none."""
        return bool(self.tokens) or not self.replies

    @property
    def priced(self) -> bool:
        """Whether the price of at least one reply is known."""
        return self.unpriced < self.replies


def sum_usage(rows: Iterable[UsageRow], name: str = "") -> UsageTotals:
    """Return the totals of the rows, with `name` as the name of the group."""
    total = UsageTotals(name)
    for row in rows:
        total = UsageTotals(
            name=name,
            replies=total.replies + row.replies,
            input=total.input + row.input,
            output=total.output + row.output,
            cached=total.cached + row.cached,
            cost=total.cost + row.cost,
            unpriced=total.unpriced + row.unpriced,
            time=total.time + row.duration,
        )
    return total


def group_usage(rows: Iterable[UsageRow], by: UsageGrouping) -> list[UsageTotals]:
    """Return the totals of each group: days with the newest first, others with the most tokens first."""
    groups: dict[str, list[UsageRow]] = {}
    for row in rows:
        groups.setdefault(getattr(row, by), []).append(row)
    sums = [sum_usage(group, name) for name, group in groups.items()]
    if by == "day":
        return sorted(sums, key=lambda total: total.name, reverse=True)
    return sorted(sums, key=lambda total: (-total.tokens, total.name))
