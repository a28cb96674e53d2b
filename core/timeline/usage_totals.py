"""Token usage and cost, grouped by day, model or folder, and exported as CSV."""

import csv
import io
from collections.abc import Iterable
from typing import Literal, NamedTuple

from core.domain.clock import SECOND
from core.store.usage import UsageRow

UsageGrouping = Literal["day", "model", "folder"]


class UsageTotals(NamedTuple):
    """Sums of token usage, cost and time.

    `unpriced` counts the replies whose price is unknown; `cost` is the sum for the others, in US dollars. `time` is in
    microseconds.
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
        """Whether the tokens are known. Some external agents and transcripts report none."""
        return bool(self.tokens) or not self.replies

    @property
    def priced(self) -> bool:
        """Whether the price of at least one reply is known."""
        return self.unpriced < self.replies


def sum_usage(rows: Iterable[UsageRow], name: str = "") -> UsageTotals:

    total = UsageTotals(name)
    for row in rows:
        total = UsageTotals(
            name, total.replies + row.replies, total.input + row.input, total.output + row.output,
            total.cached + row.cached, total.cost + row.cost, total.unpriced + row.unpriced, total.time + row.duration,
        )  # fmt: skip
    return total


def group_usage(rows: Iterable[UsageRow], by: UsageGrouping) -> list[UsageTotals]:
    """Return totals per group: days with the newest first, models and folders with the highest usage first."""
    groups: dict[str, list[UsageRow]] = {}
    for row in rows:
        groups.setdefault(getattr(row, by), []).append(row)
    sums = [sum_usage(group, name) for name, group in groups.items()]
    if by == "day":
        return sorted(sums, key=lambda total: total.name, reverse=True)
    return sorted(sums, key=lambda total: (-total.tokens, total.name))


def usage_csv(rows: Iterable[UsageRow]) -> str:
    """Return the rows as CSV. The cost is empty if the price of no reply is known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("day", "model", "folder", "replies", "input", "output", "cached", "cost_usd", "unpriced_replies", "seconds")
    )
    for row in rows:
        cost = "" if row.unpriced == row.replies else f"{row.cost:.6f}"
        writer.writerow((*escape_formulas(row[:3]), *row[3:7], cost, row.unpriced, f"{row.duration / 1_000_000:.3f}"))
    return text.getvalue()


def usage_metrics(rows: Iterable[UsageRow]) -> str:
    """Return the totals of each model in the text format of Prometheus. Unknown tokens and costs are left out."""
    totals = group_usage(rows, "model")
    lines: list[str] = []

    def add(name: str, about: str, values: Iterable[tuple[str, float]]) -> None:
        lines.extend((f"# HELP {name} {about}", f"# TYPE {name} counter"))
        lines.extend(f"{name}{{{labels}}} {value:.10g}" for labels, value in values)

    def label(total: UsageTotals) -> str:
        escaped = total.name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        return f'model="{escaped}"'

    counted, priced = [each for each in totals if each.counted], [each for each in totals if each.priced]
    tokens = [
        (f'{label(each)},kind="{kind}"', float(count))
        for each in counted
        for kind, count in (("input", each.input), ("output", each.output), ("cached", each.cached))
    ]
    add("journeyman_replies_total", "Replies of the model.", [(label(each), each.replies) for each in totals])
    add("journeyman_tokens_total", "Tokens, by kind; cached ones are part of the input.", tokens)
    add(
        "journeyman_cost_dollars_total",
        "Cost of the replies whose price is known.",
        [(label(e), e.cost) for e in priced],
    )
    add(
        "journeyman_model_seconds_total",
        "Time spent waiting for replies.",
        [(label(e), e.time / SECOND) for e in totals],
    )
    return "\n".join(lines) + "\n"


def escape_formulas(names: Iterable[str]) -> list[str]:
    """Put an apostrophe in front of names that a spreadsheet would evaluate as a formula."""
    return [f"'{name}" if name[:1] in {"=", "+", "-", "@", "\t", "\r"} else name for name in names]
