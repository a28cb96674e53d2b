"""The page of figures: one run of every bench, each beside its goal, its floor and its peers."""

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import date

from tests.bench.bench import ROOT, Bench, Figure
from tests.bench.peers import PEERS, WHEN, Peers

PAGE = ROOT / "resources" / "help" / "figures.md"


def write(found: Mapping[Bench, Sequence[Figure]], day: date) -> None:
    """Put the page in its place."""
    PAGE.write_text(page(found, day), "utf-8")


def page(found: Mapping[Bench, Sequence[Figure]], day: date) -> str:
    """As Markdown."""
    missed = [figure.name.strip() for figures in found.values() for figure in figures if not figure.good]
    met = sum(bool(figure.goal) for figures in found.values() for figure in figures) - len(missed)
    return "\n\n".join(
        [
            "# Figures",
            f"Measured by `python3 packaging/dev.py bench --write` on {day:%d %B %Y}: {platform.system()}, Python "
            f"{platform.python_version()}, {os.cpu_count()} processors. Digits differ from machine to machine; the "
            "ratios hold, and the floors beside them were measured in the same run.",
            f"Goals: {met} met" + (f", {len(missed)} missed: {', '.join(missed)}." if missed else ", none missed."),
            *(section(bench, figures) for bench, figures in found.items()),
        ]
    ) + "\n"  # fmt: skip


def section(bench: Bench, figures: Sequence[Figure]) -> str:
    """A bench: what it measures, the command, the lines, the peers."""
    rows = [(figure.name.strip(), values(figure), goal(figure)) for figure in figures]
    parts = [
        f"## {bench.name.capitalize()}",
        f"{bench.what[0].upper()}{bench.what[1:]}. By itself: `python3 packaging/dev.py bench {bench.name}`.",
        table(("", "measured", "wanted"), rows),
    ]
    if peers := PEERS.get(bench.name):
        parts.append(beside(peers))
    return "\n\n".join(parts)


def beside(peers: Peers) -> str:
    return f"Predecessors, {WHEN}. {peers.what}\n\n{table(peers.head, peers.rows)}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)


def values(figure: Figure) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {short(value)}" for name, value in figure.values.items())


def goal(figure: Figure) -> str:
    return figure.goal and f"{figure.goal}: {'met' if figure.good else '**missed**'}"


def short(value: float | int | str) -> str:
    """Three digits of a number, all of a count."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value
