"""Faults of the world, told to a person: what happened, why, what to do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """The three sentences of a problem, as a plain value that a journal can keep."""

    what: str
    why: str = ""
    do: str = ""


class Problem(Exception):
    """Something outside the program went wrong. Everything else that is raised is a bug."""

    def __init__(self, what: str, why: str = "", do: str = "") -> None:
        super().__init__(what, why, do)
        self.trouble = Trouble(what, why, do)

    def __str__(self) -> str:
        return " ".join(part for part in (self.trouble.what, self.trouble.why, self.trouble.do) if part)
