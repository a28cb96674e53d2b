"""Faults of the world, told to a person: what happened, why, what to do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """The three sentences of a problem, as a plain value that a journal can keep."""

    what: str
    why: str = ""
    do: str = ""

    def __str__(self) -> str:
        """In a row, those there are."""
        return " ".join(filter(None, (self.what, self.why, self.do)))


class Problem(Exception):
    """Something outside the program went wrong. Everything else that is raised is a bug."""

    def __init__(self, what: str, why: str = "", do: str = "") -> None:
        super().__init__(what, why, do)
        self.trouble = Trouble(what, why, do)

    def __str__(self) -> str:
        return str(self.trouble)

    @classmethod
    def of(cls, trouble: Trouble) -> "Problem":
        """One that was told before."""
        return cls(trouble.what, trouble.why, trouble.do)
