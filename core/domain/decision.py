"""A decision: what was wanted, what could be done, what was chosen and why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """One way it could be done. `confidence` goes from 0 to 100; below 0 nothing was said."""

    label: str
    pros: tuple[str, ...] = ()
    cons: tuple[str, ...] = ()
    confidence: int = -1
