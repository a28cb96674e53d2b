"""The argument of every command."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from app.process.output import Output
from core.engine.api.engine import Engine
from core.store.rule_store import RuleStore


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
    rules: RuleStore

    def path(self, name: str) -> Path:
        """Return a path from the arguments, relative to the current folder of the terminal."""
        return self.folder / Path(name).expanduser()
