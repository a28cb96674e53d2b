"""Formats figures of the Usage page. A cost is shown as unknown if a price is unknown."""

from datetime import date
from typing import Final, Literal

from PySide6.QtCore import QCoreApplication, QLocale

from core.timeline.usage_totals import UsageTotals
from ui.style.number_formats import amount, duration, money

OTHER_MODELS: Final = "…"  # stands for all models without a color of their own

Measure = Literal["tokens", "cost", "time"]


def cost_text(totals: UsageTotals) -> str:
    if not totals.replies:
        return money(0)
    if not totals.priced:
        return tr("unknown")
    return tr("{} + unknown").format(money(totals.cost)) if totals.unpriced else money(totals.cost)


def tokens_text(totals: UsageTotals) -> str:
    return tr("{} tokens").format(amount(totals.tokens)) if totals.counted else tr("tokens unknown")


def measure_text(totals: UsageTotals, measure: Measure) -> str:
    """Format the usage in the given measure, such as tokens or cost."""
    if measure == "tokens":
        return tokens_text(totals)
    return cost_text(totals) if measure == "cost" else duration(totals.time) or "0s"


def measure_value(totals: UsageTotals, measure: Measure) -> float:
    """Return the usage in the given measure as a number, which determines the length of a bar."""
    return {"tokens": float(totals.tokens), "cost": totals.cost, "time": float(totals.time)}[measure]


def tick_label(amount_of: float, measure: Measure) -> str:
    """Return the label of a grid line for this value."""
    if measure == "tokens":
        return amount(round(amount_of))
    return money(amount_of) if measure == "cost" else duration(round(amount_of)) or "0s"


def model_label(name: str) -> str:
    return tr("other models") if name == OTHER_MODELS else name or tr("unknown model")


def long_date(day: str) -> str:
    """Return an ISO date in words, such as `Sunday, 22 November 2025`, in the user's language."""
    when, locale = date.fromisoformat(day), QLocale()
    return tr("{weekday}, {day} {month} {year}").format(
        weekday=locale.standaloneDayName(when.isoweekday()),
        day=when.day,
        month=locale.monthName(when.month),
        year=when.year,
    )


def short_date(day: str) -> str:
    when = date.fromisoformat(day)
    month = QLocale().monthName(when.month, QLocale.FormatType.ShortFormat)
    return tr("{day} {month}").format(day=when.day, month=month)


def tr(text: str) -> str:
    return QCoreApplication.translate("usage", text)
