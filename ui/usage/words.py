"""How figures of use are said: an unknown price is said to be unknown."""

from datetime import date
from typing import Final, Literal

from PySide6.QtCore import QCoreApplication, QLocale

from core.timeline.spending import Sum
from ui.figures import amount, duration, money

OTHERS: Final = "…"  # stands for the models that have no colour of their own

Measure = Literal["tokens", "cost", "time"]


def cost(one: Sum) -> str:
    if not one.replies:
        return money(0)
    if not one.priced:
        return tr("unknown")
    return tr("{} + unknown").format(money(one.cost)) if one.unpriced else money(one.cost)


def figure(one: Sum, measure: Measure) -> str:
    """What a bar stands for."""
    if measure == "tokens":
        return tr("{} tokens").format(amount(one.tokens))
    return cost(one) if measure == "cost" else duration(one.time) or "0s"


def value(one: Sum, measure: Measure) -> float:
    """How long a bar is."""
    return {"tokens": float(one.tokens), "cost": one.cost, "time": float(one.time)}[measure]


def scale_mark(amount_of: float, measure: Measure) -> str:
    """What stands beside a line of the plot."""
    if measure == "tokens":
        return amount(round(amount_of))
    return money(amount_of) if measure == "cost" else duration(round(amount_of)) or "0s"


def model_words(name: str) -> str:
    return tr("others") if name == OTHERS else name or tr("not named")


def day_words(day: str) -> str:
    """`Sunday, 22 November`: a day in the person's words."""
    when, locale = date.fromisoformat(day), QLocale()
    return tr("{weekday}, {day} {month} {year}").format(
        weekday=locale.standaloneDayName(when.isoweekday()),
        day=when.day,
        month=locale.monthName(when.month),
        year=when.year,
    )


def short_day(day: str) -> str:
    when = date.fromisoformat(day)
    month = QLocale().monthName(when.month, QLocale.FormatType.ShortFormat)
    return tr("{day} {month}").format(day=when.day, month=month)


def tr(text: str) -> str:
    return QCoreApplication.translate("usage", text)
