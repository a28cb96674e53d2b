"""Renders the results page: one run of every benchmark with its goals, floors and predecessors."""

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import date

from tests.bench.benchmark import ROOT, Benchmark, Measurement
from tests.bench.predecessors import MEASURED_ON, PREDECESSORS, PredecessorTable

PAGE = ROOT / "resources" / "docs" / "figures.md"


def write_page(found: Mapping[Benchmark, Sequence[Measurement]], day: date) -> None:
    PAGE.write_text(render_page(found, day), "utf-8")


def render_page(found: Mapping[Benchmark, Sequence[Measurement]], day: date) -> str:
    missed = [figure.name.strip() for figures in found.values() for figure in figures if not figure.passed]
    met = sum(bool(figure.goal) for figures in found.values() for figure in figures) - len(missed)
    return "\n\n".join(
        [
            "# Benchmark results",
            f"Measured by `python3 packaging/dev.py bench --write` on {day:%d %B %Y}: {platform.system()}, Python "
            f"{platform.python_version()}, {os.cpu_count()} processors. Absolute numbers differ between computers. "
            "Ratios are comparable, because the baselines next to them were measured in the same run.",
            f"Goals: {met} met" + (f", {len(missed)} missed: {', '.join(missed)}." if missed else ", none missed."),
            *(render_section(bench, figures) for bench, figures in found.items()),
        ]
    ) + "\n"  # fmt: skip


def render_section(bench: Benchmark, figures: Sequence[Measurement]) -> str:
    """Render a benchmark: its description, its command, its results and the predecessors."""
    rows = [(figure.name.strip(), format_values(figure), format_goal(figure)) for figure in figures]
    parts = [
        f"## {bench.name.capitalize()}",
        f"{bench.description[0].upper()}{bench.description[1:]}. Run it with `python3"
        f" packaging/dev.py bench {bench.name}`.",
        render_table(("", "measured", "goal"), rows),
    ]
    if peers := PREDECESSORS.get(bench.name):
        parts.append(render_predecessors(peers))
    return "\n\n".join(parts)


def render_predecessors(peers: PredecessorTable) -> str:
    return f"Predecessors, {MEASURED_ON}. {peers.caption}\n\n{render_table(peers.header, peers.rows)}"


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)


def format_values(figure: Measurement) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {format_value(value)}" for name, value in figure.values.items())


def format_goal(figure: Measurement) -> str:
    return figure.goal and f"{figure.goal}: {'met' if figure.passed else '**missed**'}"


def format_value(value: float | int | str) -> str:
    """Format a float with three significant digits and an integer in full."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value
