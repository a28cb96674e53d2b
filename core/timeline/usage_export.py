"""Exports token usage and cost as CSV, and in the text format of Prometheus."""

import csv
import io
from collections.abc import Iterable

from core.domain.clock import SECOND
from core.store.usage import UsageRow
from core.timeline.usage_totals import UsageTotals, group_usage


def usage_csv(rows: Iterable[UsageRow]) -> str:
    """Return usage as CSV. The cost of a row is empty if the price of none of its replies is known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        (
            *("day", "model", "folder", "replies", "input", "output", "cached"),
            *("cost_usd", "unpriced_replies", "seconds", "agent"),
        )
    )
    for row in rows:
        *names, agent = escape_formulas((row.day, row.model, row.folder, row.agent))
        counts = (row.replies, row.input, row.output, row.cached)
        cost = "" if row.unpriced == row.replies else f"{row.cost:.6f}"
        writer.writerow((*names, *counts, cost, row.unpriced, f"{row.duration / SECOND:.3f}", agent))
    return text.getvalue()


def usage_metrics(rows: Iterable[UsageRow]) -> str:
    """Return the totals of each model in Prometheus's text format. Unknown tokens and costs are left out."""
    totals = group_usage(rows, "model")
    lines: list[str] = []

    def add(name: str, description: str, values: Iterable[tuple[str, float]]) -> None:
        lines.extend((f"# HELP {name} {description}", f"# TYPE {name} counter"))
        lines.extend(f"{name}{{{labels}}} {value:.10g}" for labels, value in values)

    def label(total: UsageTotals) -> str:
        escaped = total.name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        return f'model="{escaped}"'

    replies = [(label(total), total.replies) for total in totals]
    tokens = [
        (f'{label(total)},kind="{kind}"', count)
        for total in totals
        if total.counted
        for kind, count in (("input", total.input), ("output", total.output), ("cached", total.cached))
    ]
    costs = [(label(total), total.cost) for total in totals if total.priced]
    seconds = [(label(total), total.time / SECOND) for total in totals]
    add("journeyman_replies_total", "Replies of the model.", replies)
    add("journeyman_tokens_total", "Tokens, by kind; cached ones are part of the input.", tokens)
    add("journeyman_cost_dollars_total", "Cost of the replies whose price is known.", costs)
    add("journeyman_model_seconds_total", "Time spent waiting for replies.", seconds)
    return "\n".join(lines) + "\n"


def escape_formulas(names: Iterable[str]) -> list[str]:
    """Return the names, with an apostrophe before each that a spreadsheet would evaluate as a formula."""
    return [f"'{name}" if name[:1] in {"=", "+", "-", "@", "\t", "\r"} else name for name in names]
