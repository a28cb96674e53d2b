"""The limits of a run: turns, minutes, tokens and cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

WARNING_SHARE = 0.8  # a warning is due when this share of a limit is used
LIMIT_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "turns": "max_turns",
        "minutes": "max_minutes",
        "tokens": "max_tokens",
        "cost": "max_cost",
    }
)


@dataclass(frozen=True, slots=True)
class LimitUsage:
    """How much of one limit a run has used."""

    limit: str
    used: float
    allowed: float

    @property
    def share(self) -> float:
        return self.used / self.allowed


def limits_near(used: Mapping[str, float], allowed: Mapping[str, float]) -> list[LimitUsage]:
    """Return the limits of which at least WARNING_SHARE is used, most used first. A limit of 0 means unlimited."""
    usages = [LimitUsage(name, used.get(name, 0.0), limit) for name, limit in allowed.items() if limit > 0]
    return sorted((usage for usage in usages if usage.share >= WARNING_SHARE), key=lambda usage: -usage.share)
