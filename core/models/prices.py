"""Model prices, and the bundled price table."""

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
class TokenRates:
    """Prices in US dollars per million tokens. The input price applies where a cache price is None."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, slots=True)
class LargeRequestRates:
    """The prices of requests with more than `threshold` input tokens."""

    threshold: int
    rates: TokenRates


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The price of a model.

    Attributes:
        large_request_rates: higher prices for large requests, with ascending thresholds.
        source: where the price comes from, for display.
    """

    rates: TokenRates
    large_request_rates: tuple[LargeRequestRates, ...] = ()
    source: str = ""

    def cost(self, usage: Usage) -> float:
        """Return the cost of a reply in US dollars. Prices above a threshold apply to the whole request."""
        rates = self.rates
        for large in self.large_request_rates:
            if usage.input > large.threshold:
                rates = large.rates
        read_rate = rates.input if rates.cache_read is None else rates.cache_read
        write_rate = rates.input if rates.cache_write is None else rates.cache_write
        uncached_tokens = usage.input - usage.cache_read - usage.cache_write
        total = uncached_tokens * rates.input + usage.cache_read * read_rate + usage.cache_write * write_rate
        return (total + usage.output * rates.output) / MILLION


FREE = ModelPrice(TokenRates(0.0, 0.0), source="this machine")


@dataclass(frozen=True, slots=True)
class PriceTableRow:
    """An entry of the price table; `name_pattern` must match a whole model name. `window` is None if unknown."""

    name_pattern: re.Pattern[str]
    window: int | None
    price: ModelPrice


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The bundled price table, with its date and the rows of each provider."""

    date: str
    source: str
    rows: Mapping[str, Sequence[PriceTableRow]]

    def find_row(self, provider: str, model: str) -> PriceTableRow | None:
        """Return the first row of a provider whose pattern matches the model's whole name."""
        return next((row for row in self.rows.get(provider, ()) if row.name_pattern.fullmatch(model)), None)


@lru_cache(maxsize=1)
def price_table() -> PriceTable:
    """Return the bundled price table, which is loaded on first use."""
    plain = json.loads((resources.files("resources") / "prices.json").read_text("utf-8"))
    source = f"table of {plain['date']}"
    rows = {name: tuple(_row(row, source) for row in listed) for name, listed in plain["providers"].items()}
    return PriceTable(plain["date"], plain["source"], rows)


def _row(plain: dict[str, Any], source: str) -> PriceTableRow:
    large_request_rates = tuple(
        LargeRequestRates(threshold, _rates({**plain, **overrides})) for threshold, overrides in plain.get("above", ())
    )
    price = ModelPrice(_rates(plain), large_request_rates, source)
    return PriceTableRow(re.compile(plain["names"]), plain.get("window"), price)


def _rates(plain: dict[str, Any]) -> TokenRates:
    return TokenRates(
        input=plain["in"], output=plain["out"], cache_read=plain.get("cached"), cache_write=plain.get("written")
    )
