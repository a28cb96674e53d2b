"""Do a command with an engine that is there, for our own terminal or for another's."""

import argparse
from pathlib import Path

from app.arguments import UsageError, parser
from app.assemble import Services
from app.commands.context import Context
from app.commands.exits import FAILED, USAGE, WAITING
from app.commands.table import COMMANDS
from app.crash import complain
from app.output import Output
from app.owner import Perform
from core.domain.problems import Problem
from core.engine.doubt import Doubt


def performer(services: Services, home: Path) -> Perform:
    """The function that does commands."""

    async def perform(words: list[str], folder: Path, out: Output) -> int:
        try:
            typed = parser().parse_args(words)
        except UsageError as error:
            out.complain(str(error))
            return USAGE
        except SystemExit:  # --help and --version are answered before an owner is asked
            return USAGE
        return await perform_typed(services, home, typed, folder, out)

    return perform


async def perform_typed(services: Services, home: Path, typed: argparse.Namespace, folder: Path, out: Output) -> int:
    try:
        if typed.command not in COMMANDS:
            raise Problem(
                "Another Journeyman is at work in this data folder.",
                "It does one command and has no window.",
                "Wait until it is done, or choose another folder with --home.",
            )
        return await COMMANDS[typed.command](Context(services.engine, typed, out, folder, home, services.rules))
    except Doubt as doubt:
        out.trouble(doubt.trouble)
        return WAITING
    except Problem as problem:
        out.trouble(problem.trouble)
        return FAILED
    except BrokenPipeError:
        raise
    except Exception as error:
        complain(error, home, out)
        return FAILED
