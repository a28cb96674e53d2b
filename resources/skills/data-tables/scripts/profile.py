#!/usr/bin/env python3
"""Print a profile of a table: its separator and size, and for each column its type, empty values and range."""

import csv
import json
import sys
from collections import Counter
from pathlib import Path

KEPT = 10_000  # distinct values that are counted per column; if there are more, their number is shown as a minimum


class Column:
    """The statistics of one column."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.filled = self.empty = self.numbers = 0
        self.low: float | None = None
        self.high: float | None = None
        self.values: Counter[str] = Counter()
        self.more = False

    def take(self, value: str) -> None:
        text = value.strip()
        if not text:
            self.empty += 1
            return
        self.filled += 1
        if text in self.values or len(self.values) < KEPT:
            self.values[text] += 1
        else:
            self.more = True
        try:
            number = float(text.replace(",", ""))
        except ValueError:
            return
        self.numbers += 1
        self.low = number if self.low is None else min(self.low, number)
        self.high = number if self.high is None else max(self.high, number)

    def summary(self) -> str:
        distinct = f"{len(self.values):,}{'+' if self.more else ''}"
        kind = "number" if self.numbers == self.filled and self.filled else "text" if not self.numbers else "mixed"
        if kind == "text":
            span = f"{min(self.values, default='')[:30]!r} to {max(self.values, default='')[:30]!r}"
        else:
            span = f"{self.low:g} to {self.high:g}" + (
                f", {self.filled - self.numbers:,} not numeric" if kind == "mixed" else ""
            )
        key = ", all distinct" if self.filled and len(self.values) == self.filled and not self.empty else ""
        often = ", ".join(f"{value[:30]!r} {count:,}" for value, count in self.values.most_common(3) if count > 1)
        return (
            f"{self.name}: {kind}, {self.filled:,} filled, {self.empty:,} empty, {distinct} distinct{key}; {span}"
            + (f"; most: {often}" if often else "")
        )


def main(name: str) -> int:
    path = Path(name)
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        start = file.read(65536)
        file.seek(0)
        if start.lstrip().startswith("{"):
            rows = (json.loads(line) for line in file if line.strip())
            separator = "JSON lines"
            table = ({key: "" if value is None else str(value) for key, value in row.items()} for row in rows)
        else:
            try:
                dialect: type[csv.Dialect] = csv.Sniffer().sniff(start, delimiters=",;\t|")
            except csv.Error:
                dialect = csv.excel
            separator = f"separator {dialect.delimiter!r}"
            table = csv.DictReader(file, dialect=dialect, restkey="(too many)", restval="")
        columns: dict[str, Column] = {}
        seen: Counter[int] = Counter()
        count = ragged = 0
        for row in table:
            count += 1
            ragged += "(too many)" in row
            seen[hash(tuple(map(str, row.values())))] += 1
            for key, value in row.items():
                columns.setdefault(str(key), Column(str(key))).take(value if isinstance(value, str) else str(value))
    twice = sum(times - 1 for times in seen.values())
    lines = [f"{path.name}: {separator}, {count:,} rows, {len(columns)} columns, {twice:,} duplicate rows"]
    if ragged:
        lines.append(f"{ragged:,} rows have more values than the header: check them first")
    lines += [f"- {column.summary()}" for column in columns.values()]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: profile.py FILE")
    sys.exit(main(sys.argv[1]))
