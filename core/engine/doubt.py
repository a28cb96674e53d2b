"""What is said where calls may have run and nobody has decided yet what to do with them."""

from core.domain.problems import Problem


class Doubt(Problem):
    """Calls may have run; only a person can say what now."""

    def __init__(self, session: str, calls: tuple[str, ...]) -> None:
        super().__init__(
            f"{', '.join(calls)} may have run.",
            "Journeyman ended while it was running, so nobody saw the end of it.",
            f"Look, then choose: journeyman resume {session} --again, --skip or --end.",
        )
        self.calls = calls
