"""Parses a command and runs it on an engine, for this process or for another one that sent it over the socket."""

import argparse
from pathlib import Path

from app.cli.arguments import parser
from app.cli.command_parser import UsageError
from app.commands.command_table import COMMANDS, command_function
from app.commands.invocation import Invocation, UsageProblem
from app.process.command_server import CommandRunner
from app.process.crash import report_error
from app.process.exit_codes import FAILED, USAGE, WAITING
from app.process.output import Output
from app.process.services import Services
from core.domain.problems import Problem
from core.engine.state.unresolved_calls import UnresolvedCallsError


def make_command_runner(services: Services, home: Path) -> CommandRunner:
    """Return the function that parses and runs commands on these services; it returns an exit code."""

    async def perform(argv: list[str], folder: Path, out: Output) -> int:
        try:
            args = parser().parse_args(argv)
        except UsageError as error:
            out.print_usage_error(error.details, error.usage)
            return USAGE
        except SystemExit:  # from --help and --version, which the process that the user started handles itself
            return USAGE
        return await run_command(services, home, args, folder, out)

    return perform


async def run_command(services: Services, home: Path, args: argparse.Namespace, folder: Path, out: Output) -> int:
    try:
        if args.command not in COMMANDS:
            raise Problem(
                "The data folder is in use by another Journeyman.",
                "It runs a command and has no window.",
                "Wait until it is done, or choose another folder with --data-dir.",
            )
        context = Invocation(engine=services.engine, args=args, out=out, folder=folder, data_folder=home)
        return await command_function(args.command)(context)
    except UsageProblem as problem:
        out.print_error(problem.details)
        return USAGE
    except UnresolvedCallsError as unresolved:
        out.print_error(unresolved.details)
        return WAITING
    except BrokenPipeError:
        raise
    except Exception as error:
        report_error(error, home, out)
        return FAILED
