"""Palette entries, and how they are filtered and ranked for the typed text."""

from collections.abc import Sequence
from dataclasses import dataclass

from ui.palette.fuzzy import NEXT, fuzzy_match


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """A palette entry; `token` is the theme color of its icon, `keys` its shortcut."""

    id: str
    text: str
    detail: str = ""
    keys: str = ""
    icon: str = ""
    token: str = "second"
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class PaletteMatch:
    """An entry that matches the typed text, with the positions of the matching characters."""

    entry: PaletteEntry
    positions: tuple[int, ...] = ()


def rank_entries(
    entries: Sequence[PaletteEntry], typed: str, recent: Sequence[str] = (), limit: int = 200
) -> list[PaletteMatch]:
    """Return up to `limit` matching entries, best first; without typed text, recently used ones come first."""
    ages = {name: age for age, name in enumerate(recent)}
    if not typed.strip():
        first = sorted((entry for entry in entries if entry.id in ages), key=lambda entry: ages[entry.id])
        rest = [entry for entry in entries if entry.id not in ages]
        return [PaletteMatch(entry) for entry in [*first, *rest][:limit]]
    scored: list[tuple[int, int, PaletteMatch]] = []
    for place, entry in enumerate(entries):
        fit = fuzzy_match(typed, f"{entry.text} {entry.detail}".rstrip())
        if fit is None:
            continue
        quiet = sum(
            p >= len(entry.text) for p in fit.positions
        )  # matches in the detail rank below matches in the title
        # A small bonus for recently used entries, and a penalty for unavailable ones.
        score = fit.score - NEXT * quiet + max(0, 6 - ages.get(entry.id, 6)) - (0 if entry.enabled else 8)
        scored.append((-score, place, PaletteMatch(entry, tuple(p for p in fit.positions if p < len(entry.text)))))
    return [found for _, _, found in sorted(scored, key=lambda each: each[:2])[:limit]]
