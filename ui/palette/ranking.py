"""The entries of the palette, and how they are filtered and ranked by the typed text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ui.palette.fuzzy import CHARACTER_SCORE, fuzzy_match

RECENT_BONUS: Final = 6  # score of the entry used last; each entry used before it gets one less
UNAVAILABLE_PENALTY: Final = 8


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """An entry of the palette. `token` is the color token of its icon, `keys` its shortcut."""

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
    """Return at most `limit` matching entries, best first. Without typed text, recently used ones come first."""
    ages = {entry_id: age for age, entry_id in enumerate(recent)}
    if not typed.strip():
        ranked = sorted(entries, key=lambda entry: ages.get(entry.id, len(recent)))
        return [PaletteMatch(entry) for entry in ranked[:limit]]
    scored: list[tuple[int, PaletteMatch]] = []
    for entry in entries:
        match = fuzzy_match(typed, f"{entry.text} {entry.detail}".rstrip())
        if match is None:
            continue
        title_positions = tuple(position for position in match.positions if position < len(entry.text))
        detail_matches = len(match.positions) - len(title_positions)
        # A match in the title ranks higher than one in the detail.
        score = match.score - CHARACTER_SCORE * detail_matches
        score += max(0, RECENT_BONUS - ages.get(entry.id, RECENT_BONUS))
        if not entry.enabled:
            score -= UNAVAILABLE_PENALTY
        scored.append((score, PaletteMatch(entry, title_positions)))
    scored.sort(key=lambda item: item[0], reverse=True)  # entries with equal scores keep their order
    return [match for _, match in scored[:limit]]
