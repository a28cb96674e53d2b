"""What every command receives: its arguments, its output and the engine."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from app.process.output import Output
from core.domain.problems import Problem
from core.engine.api.engine import Engine

PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # paths of pipes that a shell passes, as for `<(command)`


class UsageProblem(Problem):
    """The arguments of a command contradict each other, or one is missing. The exit code is that of a usage error."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of a command: its arguments, its output and the engine it runs on.

    Attributes:
        args: The parsed arguments.
        folder: The current folder of the terminal, to which paths in the arguments are relative.
        data_folder: The folder with the database and logs.
    """

    engine: Engine
    args: argparse.Namespace
    out: Output
    folder: Path
    data_folder: Path

    def path(self, name: str) -> Path:
        """Return the path in the argument `name`; a relative path starts at the current folder of the terminal."""
        return self.folder / Path(name).expanduser()

    def session_id(self) -> str:
        """Return the full ID of the session in the argument `session`, which may be only the start of an ID."""
        return self.engine.session(self.args.session).id

    def read_text(self, name: str) -> str:
        """Read the text file or pipe (`<(command)`) that the argument `name` names. Other kinds of file are refused."""
        path = self.folder / name
        if path.exists() and not path.is_file() and not str(path).startswith(PIPES):
            raise Problem(f"{name} is not a regular file.", "", "Name a text file.")
        try:
            return path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Problem(
                f"{name} cannot be read.", f"{error}.", "Name a UTF-8 text file that you may read."
            ) from error
