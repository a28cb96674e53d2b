"""Expected errors, which the user sees as a message, a cause and a fix."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """The three sentences of a Problem as a plain value that events can store.

    `message` says what happened, `cause` why, and `fix` what the user can do; the latter two may be empty. `code` tells
    errors apart for scripts, which read it in `--json` output. A code never changes; an error that no script has to
    tell apart from others has none.
    """

    message: str
    cause: str = ""
    fix: str = ""
    code: str = ""

    def __str__(self) -> str:
        """Return the sentences on one line."""
        return " ".join(filter(None, (self.message, self.cause, self.fix)))


class Problem(Exception):
    """An expected error caused by something outside the program. Any other exception is a bug."""

    code = ""

    def __init__(self, message: str, cause: str = "", fix: str = "", code: str = "") -> None:
        super().__init__(message, cause, fix)
        self.details = ErrorDetails(message, cause, fix, code or self.code)

    def __str__(self) -> str:
        return str(self.details)

    @classmethod
    def from_details(cls, details: ErrorDetails) -> "Problem":
        """Return a Problem made from stored details."""
        return cls(details.message, details.cause, details.fix, details.code)


class StorageProblem(Problem):
    """The data file cannot be read or written, for example because the disk is full. Nothing was written."""

    code = "storage"
