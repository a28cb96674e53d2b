"""Parses the arguments, then opens the window or runs a command, and returns the exit code."""

import builtins
import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from app.process import data_folder
from app.process.data_folder_lock import DataFolderLock, refuse_safe_mode
from app.process.exit_codes import FAILED, STOPPED, TERMINATED, USAGE
from app.process.output import Output, in_writer_thread, terminal
from core.domain.problems import ErrorDetails, Problem

if TYPE_CHECKING:
    import argparse

    from app.process.termination import TerminationWatch
    from core.store.database import Database

# Attempts, 20 ms apart, to reach a process that may be opening or closing the data folder, which can take seconds.
ATTEMPTS = 500
DATA_DIR = "--data-dir"
EMPTY_TASK = ErrorDetails("The task is empty.", "Standard input is empty.", "Pipe a text into it.")
RUN_VARIABLES = {  # the environment variables with defaults for options of `run`
    "JOURNEYMAN_MODEL": "--model",
    "JOURNEYMAN_TEMPERATURE": "--temperature",
    "JOURNEYMAN_MAX_OUTPUT_TOKENS": "--max-output-tokens",
}
NO_ANSWER = "Close it or end its process, then try again."


def dispatch(argv: list[str]) -> int:
    out = terminal()
    names_only_folder = len(argv) == 2 and argv[0] == DATA_DIR and argv[1] != "" and not argv[1].startswith("-")
    if not argv or names_only_folder:
        folder = data_folder.data_folder(argv[1] if argv else None)
        return _exit_code(folder, out, partial(_window, folder, [], safe=False))
    # The path above skips the parser, whose import takes a tenth of the time until the window's first paint.
    from app.cli.arguments import parse
    from app.cli.command_parser import UsageError

    try:
        args = parse(argv)
    except UsageError as error:
        out.print_usage_error(error.details, error.usage)
        return USAGE
    folder = data_folder.data_folder(args.data_dir)
    return _exit_code(folder, out, partial(_run_parsed, argv, args, folder, out))


def _exit_code(folder: Path, out: Output, work: Callable[[], int]) -> int:
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
        _report(folder, out, error)
        return FAILED


def _run_parsed(argv: list[str], args: "argparse.Namespace", folder: Path, out: Output) -> int:
    if args.command is None:
        return _window(folder, [], safe=args.safe)
    if args.command == "open":
        return _window(folder, [str(_current_folder() / name) for name in args.files], safe=args.safe)
    if args.command == "db" and args.action in {"restore", "repair"}:
        return _restore_or_repair(folder, args, out)
    if args.command == "replay":
        from app.commands.replay import replay  # it reads keys from this terminal, so it cannot run in another process

        return replay(folder, args, out)
    inputs = _read_inputs(args)
    if inputs == [""] and getattr(args, "task", None) == "-":
        out.print_error(EMPTY_TASK)
        return USAGE
    given = [f"--given={text}" for text in inputs]
    return run_command([*given, *with_run_defaults(argv, args, os.environ)], folder, out, safe=args.safe)


def with_run_defaults(argv: list[str], args: "argparse.Namespace", environ: Mapping[str, str]) -> list[str]:
    """Return the arguments; those of `run` with the options that only our environment sets.

    They are added here, because the process that holds the data folder may have another environment.
    """
    if args.command != "run":
        return argv
    is_set = {
        "--model": bool(args.model or args.agent or args.script),  # a profile may name a model
        "--temperature": args.temperature is not None,
        "--max-output-tokens": any(word.startswith("--max-output-tokens") for word in argv),
    }
    names = [name for name, option in RUN_VARIABLES.items() if environ.get(name) and not is_set[option]]
    defaults = [f"{RUN_VARIABLES[name]}={environ[name]}" for name in names]
    start = 2 if argv[0] == DATA_DIR else 0  # its value may be the name of the command
    after_command = argv.index("run", start) + 1
    return [*argv[:after_command], *defaults, *argv[after_command:]]


def _window(folder: Path, files: list[str], *, safe: bool) -> int:
    try:
        import_qt()
        from app.window.startup import open_window  # commands do not need Qt, which is slow to import
    except ImportError as error:
        fix = "Install the missing system library; `journeyman doctor` checks again."
        raise Problem("The window cannot be opened.", f"{error}.", fix) from error
    return open_window(folder, files, safe=safe)


def import_qt() -> None:
    """Import PySide6 without its import hook. Also stop garbage collection until `DesktopApp` starts it again.

    The hook reads the source of every module imported later, for a feature that we do not use.
    """
    gc.disable()
    original_import = builtins.__import__
    importlib.import_module("PySide6.QtCore")
    builtins.__import__ = original_import


def run_command(argv: list[str], home: Path, out: Output, *, safe: bool = False) -> int:
    """Run a command in this process if it can lock the data folder, else in the process that holds the lock."""
    import asyncio

    folder = _current_folder()
    lock = DataFolderLock(data_folder.lock_path(home))
    with in_writer_thread(out) as out, asyncio.Runner() as runner:
        while not lock.acquire():
            refuse_safe_mode(safe)
            code = runner.run(_run_through_owner(argv, home, folder, out))
            if code is not None:
                return code
        try:
            return runner.run(_run_as_owner(argv, home, folder, out, safe))
        finally:
            lock.release()


def _read_inputs(args: "argparse.Namespace") -> list[str]:
    """Read the secrets and standard input that the command needs, such as an API key or a task.

    The result is added to the command's arguments inside this process or over the socket, so a secret never appears in
    a process list.
    """
    match args.command, getattr(args, "action", None):
        case "models", "key" if not args.forget:
            return [_read_secret(args.name)]
        case "mcp", "key":
            return [_read_secret(f"{args.name}, {args.what}")]
        case "mcp", "add":
            return [_read_secret(f"{args.name}, {key}") for key in args.key]
        case ("run", None) | ("schedule", "add") if args.task == "-":
            return [_read_stdin().strip()]
        case ("approve", None) if args.change == "-":
            return [_read_stdin()]
        case ("skills", "save") if args.source == "-":
            return [_read_stdin()]
        case _:
            return []


def _read_secret(name: str) -> str:
    """Prompt for a secret without echo. If standard input is not a terminal, read one line from it instead."""
    import getpass

    secret = getpass.getpass(f"Key for {name}: ") if sys.stdin.isatty() else sys.stdin.readline()
    return secret.strip()


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem("Standard input cannot be read.", f"{error}.", "Pipe a UTF-8 text into it.") from error


def _restore_or_repair(folder: Path, args: "argparse.Namespace", out: Output) -> int:
    """Run `db restore` or `db repair`, holding the lock on the data folder so that no process has the database open."""
    from app.commands.db import repair, restore

    lock = DataFolderLock(data_folder.lock_path(folder))
    if not lock.acquire():
        fix = "Close Journeyman, then try again."
        raise Problem("The data is in use by another Journeyman.", "This replaces the database file.", fix)
    try:
        return repair(folder, out) if args.action == "repair" else restore(folder, args.name, out)
    finally:
        lock.release()


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise Problem("The current folder is gone.", f"{error.strerror}.", "Change to one that exists.") from error


async def _run_through_owner(argv: list[str], home: Path, folder: Path, out: Output) -> int | None:
    """Run the command in the process that owns the data folder, and return its exit code.

    Wait while an owner starts or exits. Return None if there is no owner, so that this process can become it.
    """
    import asyncio

    from app.process.command_server import run_in_owner

    watch = _watch_for_termination()
    try:
        for _ in range(ATTEMPTS):
            code = await run_in_owner(data_folder.socket_path(home), argv, folder, out)
            if code is not None:
                return code
            await asyncio.sleep(0.02)
            lock = DataFolderLock(data_folder.lock_path(home))
            if lock.acquire():
                lock.release()
                return None
    except asyncio.CancelledError:
        return STOPPED
    finally:
        watch.close()
    raise Problem(f"The data folder {home} is in use by another Journeyman.", "It does not respond.", NO_ANSWER)


async def _run_as_owner(argv: list[str], home: Path, folder: Path, out: Output, safe: bool) -> int:
    import asyncio

    from app.process.termination import SAVE_S

    opened: list[Database] = []
    watch = _watch_for_termination(lambda: [database.wait_until_written(SAVE_S) for database in opened])
    try:
        return await _run_and_serve(argv, home, folder, out, safe, opened)
    except asyncio.CancelledError:
        return TERMINATED
    finally:
        watch.close()


async def _run_and_serve(
    argv: list[str], home: Path, folder: Path, out: Output, safe: bool, opened: "list[Database]"
) -> int:
    """Run a command as the owner of the data folder, also serving commands of other processes meanwhile.

    The database, if it can be opened, is appended to `opened`.
    """
    import asyncio

    gc.disable()  # collecting while services are built costs time and finds nothing
    from app.commands.command_runner import make_command_runner
    from app.process.command_server import CommandServer, has_private_sockets
    from app.process.crash import exception_of_context
    from app.process.services import build_services

    task = asyncio.current_task()
    assert task is not None
    report = partial(_report, home, out)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: report(exception_of_context(context)))
    services = await build_services(home, report, safe=safe)
    database = services.opened.database
    if database:
        opened.append(database)
    gc.freeze()
    gc.enable()
    for warning in services.warnings:
        out.print_error(warning, "warning")
    perform = make_command_runner(services, home)
    owner = CommandServer(data_folder.socket_path(home), perform)
    try:
        if has_private_sockets() and database:  # each process reads a read-only data folder directly
            await owner.serve()
        code = await perform(argv, folder, out)
        if database:
            await services.reviews.finish_pending()
            await services.semantic_search.finish()
        if not task.cancelling() and not await owner.wait_until_idle(0.5):
            out.write_error("Another command still uses this process; it exits when that is done.")
            await owner.wait_until_idle()
        return code
    except asyncio.CancelledError:
        return STOPPED
    finally:
        await services.reviews.close()
        await services.runs.close()  # first, so that commands sent by other terminals see the interruption and exit
        await owner.wait_until_idle(1.0)
        await owner.close()
        await services.close()


def _watch_for_termination(save: Callable[[], object] = lambda: None) -> "TerminationWatch":
    """Let SIGTERM cancel the current task. If the event loop is blocked, call `save` and exit the process instead.

    The watch also wakes the loop for a Ctrl+C that arrives just before the loop goes to sleep. Otherwise Ctrl+C would
    be noticed only at the next event.
    """
    import asyncio

    from app.process.termination import TerminationWatch

    task = asyncio.current_task()
    assert task is not None
    return TerminationWatch({signal.SIGTERM: task.cancel}, save)


def _report(home: Path, out: Output, error: BaseException) -> None:
    """Print an unhandled error. An exception other than Problem is a bug and is also written to the crash log."""
    if isinstance(error, Problem):
        out.print_error(error.details)
    else:
        from app.process.crash import report_error  # slow to import and rarely needed

        report_error(error, home, out)
