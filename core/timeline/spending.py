"""What was used, added up by day, model or folder, and as a table for other programs."""

import csv
import io
from collections.abc import Iterable
from typing import Literal, NamedTuple

from core.store.usage import Used

By = Literal["day", "model", "folder"]


class Sum(NamedTuple):
    """`unpriced` of the replies have no known price: `cost` is that of the others."""

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
    def priced(self) -> bool:
        """Is the price of at least one reply known?"""
        return self.unpriced < self.replies


def total(rows: Iterable[Used], name: str = "") -> Sum:
    """All of them as one."""
    made = Sum(name)
    for row in rows:
        made = Sum(
            name, made.replies + row.replies, made.input + row.input, made.output + row.output,
            made.cached + row.cached, made.cost + row.cost, made.unpriced + row.unpriced, made.time + row.time,
        )  # fmt: skip
    return made


def grouped(rows: Iterable[Used], by: By) -> list[Sum]:
    """Days with the newest first, models and folders with those that used most first."""
    groups: dict[str, list[Used]] = {}
    for row in rows:
        groups.setdefault(getattr(row, by), []).append(row)
    sums = [total(group, name) for name, group in groups.items()]
    if by == "day":
        return sorted(sums, key=lambda one: one.name, reverse=True)
    return sorted(sums, key=lambda one: (-one.tokens, one.name))


def as_csv(rows: Iterable[Used]) -> str:
    """A line for each day, model and folder; a cost that nobody knows stays empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("day", "model", "folder", "replies", "input", "output", "cached", "cost_usd", "unpriced_replies", "seconds")
    )
    for row in rows:
        cost = "" if row.unpriced == row.replies else f"{row.cost:.6f}"
        writer.writerow((*harmless(row[:3]), *row[3:7], cost, row.unpriced, f"{row.time / 1_000_000:.3f}"))
    return text.getvalue()


def harmless(words: Iterable[str]) -> list[str]:
    """A name that a table program would take for a formula is written as text."""
    return [f"'{word}" if word[:1] in {"=", "+", "-", "@", "\t", "\r"} else word for word in words]
