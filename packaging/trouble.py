"""What went wrong while setting up, in words a person can act on."""


class Trouble(Exception):
    """A fault of the world, never of the code: what happened, why, and what to do."""

    def __init__(self, what: str, why: str, do: str) -> None:
        super().__init__(what)
        self.what, self.why, self.do = what, why, do

    def __str__(self) -> str:
        return f"{self.what}\n  why: {self.why}\n  do:  {self.do}"
