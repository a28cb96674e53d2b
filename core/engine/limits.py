"""The limits of a run: rounds, minutes, tokens, money. Near one a notice, at one a pause or the end."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

NOTICE = 0.8
FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "rounds": "max_rounds",
        "minutes": "max_minutes",
        "tokens": "max_tokens",
        "cost": "max_cost",
    }
)


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a run has come with one of its limits."""

    limit: str
    used: float
    allowed: float

    @property
    def share(self) -> float:
        return self.used / self.allowed


def reached(used: Mapping[str, float], allowed: Mapping[str, float]) -> list[Reached]:
    """The limits that are near or met, the furthest first. A limit of 0 is none."""
    found = [Reached(name, used.get(name, 0.0), most) for name, most in allowed.items() if most > 0]
    return sorted((each for each in found if each.share >= NOTICE), key=lambda each: -each.share)
