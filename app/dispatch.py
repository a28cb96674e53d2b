"""Parses the arguments, then opens the window or runs a command, and returns the exit code.

Modules that only some commands need are imported where they are used: they would slow down the start of the others.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from app.process.data_folder_name import data_folder_name
from app.process.exit_codes import FAILED, STOPPED, USAGE
from app.process.output import Output, terminal
from core.domain.problems import ErrorDetails, Problem

if TYPE_CHECKING:
    import argparse

EMPTY_TASK = ErrorDetails("The task is empty.", "Standard input is empty.", "Pipe a text into it.")


def dispatch(argv: list[str]) -> int:
    out = terminal()
    only_data_folder = len(argv) == 2 and argv[0] == "--data-dir" and argv[1] != "" and not argv[1].startswith("-")
    if not argv or only_data_folder:
        data_folder = Path(data_folder_name(argv[1] if argv else None))
        return _exit_code(data_folder, out, partial(_window, data_folder, [], safe=False))
    # The path above skips the parser, whose import takes a tenth of the time until the window's first paint.
    from app.cli.arguments import parse
    from app.cli.command_parser import UsageError

    try:
        args = parse(argv)
    except UsageError as error:
        out.print_usage_error(error.details, error.usage)
        return USAGE
    data_folder = Path(data_folder_name(args.data_dir))
    return _exit_code(data_folder, out, partial(_run_parsed, argv, args, data_folder, out))


def _exit_code(data_folder: Path, out: Output, work: Callable[[], int]) -> int:
    """Run `work` and return its exit code. Print an exception that it raises, and return the exit code for it."""
    try:
        return work()
    except Problem as problem:
        out.print_error(problem.details)
        return FAILED
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:  # the reader of our output, such as `head`, has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        from app.process.crash import report_error

        report_error(error, data_folder, out)
        return FAILED


def _run_parsed(argv: list[str], args: "argparse.Namespace", data_folder: Path, out: Output) -> int:
    if args.command is None:
        return _window(data_folder, [], safe=args.safe)
    if args.command == "open":
        return _window(data_folder, [str(_current_folder() / name) for name in args.files], safe=args.safe)
    if args.command == "db" and args.action in {"restore", "repair"}:
        from app.commands.db import restore_or_repair  # they replace the database, so no process may have it open

        return restore_or_repair(data_folder, args, out)
    if args.command == "replay":
        from app.commands.replay import replay  # it reads keys from this terminal, so it cannot run in another process

        return replay(data_folder, args, out)
    from app.cli.inputs import read_inputs
    from app.cli.run_defaults import with_run_defaults
    from app.commands.owner_process import run_in_owner_process

    inputs = read_inputs(args)
    if inputs == [""] and getattr(args, "task", None) == "-":
        out.print_error(EMPTY_TASK)
        return USAGE
    given = [f"--given={text}" for text in inputs]
    words = [*given, *with_run_defaults(argv, args, os.environ)]
    return run_in_owner_process(words, data_folder, _current_folder(), out, safe=args.safe)


def _window(data_folder: Path, files: list[str], *, safe: bool) -> int:
    try:
        from app.window.qt_import import import_qt

        import_qt()
        from app.window.startup import open_window  # imports Qt
    except ImportError as error:
        fix = "Install the missing system library; `journeyman doctor` checks again."
        raise Problem("The window cannot be opened.", f"{error}.", fix) from error
    return open_window(data_folder, files, safe=safe)


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise Problem("The current folder is gone.", f"{error.strerror}.", "Change to one that exists.") from error
