"""What every command is given."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from app.output import Output
from core.engine.engine import Engine
from core.store.rule_book import RuleBook


@dataclass(frozen=True, slots=True)
class Context:
    """`folder` is where the person typed the command: paths are read from there."""

    engine: Engine
    typed: argparse.Namespace
    out: Output
    folder: Path
    home: Path
    rules: RuleBook
