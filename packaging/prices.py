"""Writes resources/prices.json, a dated table of context windows and prices. Needs the package genai-prices."""

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parents[1] / "resources" / "prices.json"
PROVIDERS = {  # the provider's name in genai-prices, by our name for it
    "anthropic": "anthropic",
    "cerebras": "cerebras",
    "deepseek": "deepseek",
    "gemini": "google",
    "groq": "groq",
    "mistral": "mistral",
    "moonshot": "moonshotai",
    "openai": "openai",
    "x.ai": "x-ai",
    "zai": "zai",
}
FIELDS = {"in": "input_mtok", "out": "output_mtok", "cached": "cache_read_mtok", "written": "cache_write_mtok"}


def main() -> int:
    """Write the table with one model per line, so that changes are easy to review. Return the exit code."""
    from genai_prices import data

    now = datetime.now(UTC)
    theirs = {provider.id: provider for provider in data.providers}
    dates = re.findall(r"\d{4}-\d\d-\d\d", json.dumps([repr(provider) for provider in data.providers]))
    head = {
        "date": max(date for date in dates if date <= now.date().isoformat()),
        "source": f"genai-prices {version()}, MIT license",
    }
    lines = [json.dumps(head)[:-1] + ', "providers": {']
    for place, (name, theirs_name) in enumerate(PROVIDERS.items()):
        rows = [row for model in theirs[theirs_name].models if (row := _row(model, now))]
        body = ",\n".join("  " + json.dumps(row, separators=(",", ":")) for row in rows)
        lines.append(f"{json.dumps(name)}: [\n{body}\n]" + ("," if place < len(PROVIDERS) - 1 else ""))
    PLACE.write_text("\n".join(lines) + "\n}}\n", encoding="utf-8")
    json.loads(PLACE.read_text(encoding="utf-8"))
    return 0


def version() -> str:
    """Return the installed version of genai-prices."""
    from importlib.metadata import version as of

    return of("genai-prices")


def _row(model: Any, now: datetime) -> dict[str, Any] | None:
    """Return the row of a model, or None if it has no price for text.

    `names` is a pattern for the whole name of the model.
    """
    prices = model.get_prices(now)
    plain: dict[str, Any] = {"names": "|".join(_patterns(model.match))}
    if model.context_window:
        plain["window"] = model.context_window
    above: dict[int, dict[str, float]] = {}
    for ours, theirs in FIELDS.items():
        value = getattr(prices, theirs, None)
        if value is None:
            continue
        if tiers := getattr(value, "tiers", None):
            for tier in tiers:
                above.setdefault(tier.start, {})[ours] = float(tier.price)
            value = value.base
        plain[ours] = float(value)
    if "in" not in plain or "out" not in plain:
        return None
    if above:
        plain["above"] = [[start, figures] for start, figures in sorted(above.items())]
    return plain


def _patterns(match: Any) -> list[str]:
    kind = type(match).__name__
    if kind == "ClauseOr":
        return [pattern for clause in match.or_ for pattern in _patterns(clause)]
    if kind == "ClauseEquals":
        return [_plain(match.equals)]
    if kind == "ClauseStartsWith":
        return [_plain(match.starts_with) + ".*"]
    if kind == "ClauseEndsWith":
        return [".*" + _plain(match.ends_with)]
    if kind == "ClauseContains":
        return [".*" + _plain(match.contains) + ".*"]
    if kind == "ClauseRegex":
        return [match.regex.removeprefix("^").removesuffix("$") + ("" if match.regex.endswith("$") else ".*")]
    return []


def _plain(text: str) -> str:
    return re.escape(text).replace("\\-", "-")


if __name__ == "__main__":
    sys.exit(main())
