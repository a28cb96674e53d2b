"""The options among which the agent chose in a recorded decision."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecisionOption:
    """An option that the agent considered. `confidence` is a percentage; -1 means not stated."""

    label: str
    pros: tuple[str, ...] = ()
    cons: tuple[str, ...] = ()
    confidence: int = -1
