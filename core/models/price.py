"""What replies cost: figures of a person, of a server, or of our dated table; where none are known, no cost is said."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from core.domain.events import Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Figures:
    """US dollars for a million tokens. What is kept (`cached`) or written to be kept costs like any input unless
    said otherwise."""

    input: float
    output: float
    cached: float | None = None
    written: float | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """`above` are other figures for requests that are larger than so many tokens; `source` is whose they are."""

    figures: Figures
    above: tuple[tuple[int, Figures], ...] = ()
    source: str = ""

    def cost(self, usage: Usage) -> float:
        """US dollars for a reply; a request beyond a bound is charged at its figures as a whole."""
        figures = self.figures
        for bound, dearer in self.above:
            if usage.input > bound:
                figures = dearer
        cached = figures.input if figures.cached is None else figures.cached
        written = figures.input if figures.written is None else figures.written
        fresh = usage.input - usage.cached - usage.written
        total = fresh * figures.input + usage.cached * cached + usage.written * written
        return (total + usage.output * figures.output) / MILLION


FREE = Price(Figures(0.0, 0.0), source="this machine")


@dataclass(frozen=True, slots=True)
class Row:
    """What the table says of a model; None is unknown."""

    names: "re.Pattern[str]"
    window: int | None
    price: Price


@dataclass(frozen=True, slots=True)
class Table:
    """The bundled figures and the day they were gathered."""

    date: str
    source: str
    rows: Mapping[str, Sequence[Row]]

    def row(self, provider: str, model: str) -> Row | None:
        """The row of a model: by its whole name, else by the first that fits."""
        return next((row for row in self.rows.get(provider, ()) if row.names.fullmatch(model)), None)


@lru_cache(maxsize=1)
def table() -> Table:
    """The table of this version; read when a model is first asked about."""
    plain = json.loads((resources.files("resources") / "prices.json").read_text("utf-8"))
    source = f"table of {plain['date']}"
    rows = {name: tuple(_row(row, source) for row in listed) for name, listed in plain["providers"].items()}
    return Table(plain["date"], plain["source"], rows)


def _row(plain: dict[str, Any], source: str) -> Row:
    price = Price(
        _figures(plain), tuple((at, _figures({**plain, **more})) for at, more in plain.get("above", ())), source
    )
    return Row(re.compile(plain["names"]), plain.get("window"), price)


def _figures(plain: dict[str, Any]) -> Figures:
    return Figures(plain["in"], plain["out"], plain.get("cached"), plain.get("written"))
