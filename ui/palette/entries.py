"""What a palette offers, and in which order for what was typed."""

from collections.abc import Sequence
from dataclasses import dataclass

from ui.palette.fuzzy import NEXT, match


@dataclass(frozen=True, slots=True)
class Entry:
    """`token` is the colour of the icon, `keys` what does the same; `can` is false where it cannot be done now."""

    id: str
    text: str
    detail: str = ""
    keys: str = ""
    icon: str = ""
    token: str = "second"
    can: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    entry: Entry
    places: tuple[int, ...] = ()


def sort(entries: Sequence[Entry], typed: str, recent: Sequence[str] = (), limit: int = 200) -> list[Found]:
    """Nothing typed: what was used last, then the rest as it stands. Else the best fit first."""
    ages = {name: age for age, name in enumerate(recent)}
    if not typed.strip():
        first = sorted((entry for entry in entries if entry.id in ages), key=lambda entry: ages[entry.id])
        rest = [entry for entry in entries if entry.id not in ages]
        return [Found(entry) for entry in [*first, *rest][:limit]]
    scored: list[tuple[int, int, Found]] = []
    for place, entry in enumerate(entries):
        fit = match(typed, f"{entry.text} {entry.detail}".rstrip())
        if fit is None:
            continue
        quiet = sum(p >= len(entry.text) for p in fit.places)  # letters of the detail: a title goes first
        # A little ahead for what is used often, and behind for what cannot be done now.
        score = fit.score - NEXT * quiet + max(0, 6 - ages.get(entry.id, 6)) - (0 if entry.can else 8)
        scored.append((-score, place, Found(entry, tuple(p for p in fit.places if p < len(entry.text)))))
    return [found for _, _, found in sorted(scored, key=lambda each: each[:2])[:limit]]
