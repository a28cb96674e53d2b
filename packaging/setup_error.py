"""The error that the setup commands report to the developer."""


class SetupError(Exception):
    """An error in the environment and not in the code. It has a message, a cause, and a hint how to fix it."""

    def __init__(self, message: str, cause: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.cause, self.hint = message, cause, hint

    def __str__(self) -> str:
        return f"error: {self.message}\n       {self.cause}\nhint:  {self.hint}"
