"""From what was typed to an exit code."""

import builtins
import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import places
from app.commands.exits import FAILED, STOPPED, USAGE
from app.output import Output, beside, terminal
from app.single import Lock, refuse_safe
from core.domain.problems import Problem, Trouble

if TYPE_CHECKING:
    import argparse
    import asyncio

MOMENTS = 500  # of 20 ms that an owner gets to begin to listen, or to be gone: on a busy machine it takes seconds
NO_FOLDER = Trouble(
    "No data folder is named.", "What follows --home is empty.", "Name a folder after --home, or leave --home out."
)


def main(typed: list[str] | None = None) -> int:
    """Read the arguments, then open the window or do the command."""
    words = sys.argv[1:] if typed is None else typed
    out = terminal()
    if not words or (len(words) == 2 and words[0] == "--home" and words[1] and words[1][0] != "-"):
        folder = places.home(words[1] if words else None)
        return _in_words(folder, out, partial(_window, folder, [], safe=False))
    from app.arguments import UsageError, understood  # of all commands: a tenth of the time to the first paint

    try:
        read = understood(words)
    except UsageError as error:
        out.complain(str(error))
        return USAGE
    if read.home == "":
        out.trouble(NO_FOLDER)
        return USAGE
    folder = places.home(read.home)
    return _in_words(folder, out, partial(_do, words, read, folder, out))


def _in_words(folder: Path, out: Output, work: Callable[[], int]) -> int:
    """An exit code, also where it breaks."""
    try:
        return work()
    except Problem as problem:
        out.trouble(problem.trouble)
        return FAILED
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:  # whoever read our lines has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        _report(folder, out, error)
        return FAILED


def _do(words: list[str], read: "argparse.Namespace", folder: Path, out: Output) -> int:
    if read.command in {None, "open"}:
        return _window(folder, [str(_here() / name) for name in read.files] if read.command else [], safe=read.safe)
    if read.command == "screenshots":
        from app.screenshots import take

        return take(Path(read.folder), out)
    if read.command == "backup" and read.restore is not None:
        return _restore(folder, read.restore, out)
    if read.command == "replay":
        from app.commands.replay import replay  # it waits for this terminal's keys, so no owner can do it

        return replay(folder, read, out)
    return command(_with_keys(words, read), folder, out, safe=read.safe)


def _window(folder: Path, files: list[str], *, safe: bool) -> int:
    try:
        bring_qt()
        from app.desktop import show  # Qt is heavy, and a command line has no use for it
    except ImportError as error:
        do = "Install the system library that is named; `journeyman doctor` looks again."
        raise Problem("The window cannot be opened.", f"{error}.", do) from error
    return show(folder, files, safe=safe)


def bring_qt() -> None:
    """PySide6, but not its hold on `import`: it reads the source of every module that comes, for what we do not use.
    And no search for garbage before there is any: `Program` begins with that when all is shown."""
    gc.disable()
    own = builtins.__import__
    importlib.import_module("PySide6.QtCore")
    builtins.__import__ = own


def command(words: list[str], home: Path, out: Output, *, safe: bool = False) -> int:
    """As the owner of the data folder, or through the one there is."""
    import asyncio

    folder = _here()
    lock = Lock(places.lock(home))
    with beside(out) as out, asyncio.Runner() as runner:
        while not lock.take():
            refuse_safe(safe)
            code = runner.run(_through_owner(words, home, folder, out))
            if code is not None:
                return code
        try:
            return runner.run(_alone(words, home, folder, out, safe))
        finally:
            lock.release()


def _with_keys(words: list[str], read: "argparse.Namespace") -> list[str]:
    """The keys that a command wants, asked for here: from here they go no way that others can read."""
    if read.command == "models" and read.action == "key" and not read.forget:
        return [*words, f"--given={_key(read.name)}"]
    if read.command == "mcp" and read.action in ("add", "key"):
        place = words.index(read.action, words.index("mcp")) + 1  # what follows the program is the program's own
        keys = [read.what] if read.action == "key" else read.key
        return [*words[:place], *(f"--given={_key(f'{read.name}, {key}')}" for key in keys), *words[place:]]
    return words


def _key(name: str) -> str:
    """A key as the person types it, unseen, or as another program says it."""
    import getpass

    return (getpass.getpass(f"The key of {name}: ") if sys.stdin.isatty() else sys.stdin.readline()).strip()


def _restore(folder: Path, name: str, out: Output) -> int:
    """Only while nobody has the data open, this program included."""
    from app.commands.care import restore

    lock = Lock(places.lock(folder))
    if not lock.take():
        raise Problem(
            "Journeyman has this data open.", "A backup can only be put back into a closed file.", "Close it."
        )
    try:
        return restore(folder, name, out)
    finally:
        lock.release()


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise Problem("The current folder is gone.", f"{error.strerror}.", "Change to one that exists.") from error


async def _through_owner(words: list[str], home: Path, folder: Path, out: Output) -> int | None:
    """Ask the owner; one that is just starting, or just ending, gets a moment."""
    import asyncio

    from app.owner import ask_owner

    _stoppable()
    try:
        for _ in range(MOMENTS):
            code = await ask_owner(places.socket(home), words, folder, out)
            if code is not None:
                return code
            await asyncio.sleep(0.02)
            lock = Lock(places.lock(home))
            if lock.take():
                lock.release()
                return None
    except asyncio.CancelledError:
        return STOPPED
    raise Problem(
        f"Another Journeyman holds the data folder {home}.",
        "It does not answer.",
        "Close it, or end its process, then try again.",
    )


async def _alone(words: list[str], home: Path, folder: Path, out: Output, safe: bool) -> int:
    import asyncio

    gc.disable()  # until all is there that stays
    from app.assemble import assemble
    from app.crash import of_context
    from app.owner import Owner, can_serve
    from app.perform import performer

    task, report = _stoppable(), partial(_report, home, out)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: report(of_context(context)))
    services = await assemble(home, report, safe=safe)
    gc.freeze()
    gc.enable()
    for note in services.notes:
        out.trouble(note)
    perform = performer(services, home)
    owner = Owner(places.socket(home), perform)
    try:
        if can_serve() and services.opened.database:  # where one can only look, nobody needs to be served
            await owner.serve()
        code = await perform(words, folder, out)
        if services.opened.database:
            await services.reviews.settle()
            await services.meaning.finish()
        if not task.cancelling() and not await owner.idle(0.5):
            out.complain("Another command still works with this data folder; this one ends after it.")
            await owner.idle()
        return code
    except asyncio.CancelledError:
        return STOPPED
    finally:
        await services.reviews.close()
        await services.runs.close()  # first: other commands hear that their runs were interrupted, and end
        await owner.idle(1.0)
        await owner.close()
        await services.close()


def _stoppable() -> "asyncio.Task[Any]":
    """This task, which SIGTERM stops from now on. A Ctrl+C that comes as the loop lies down wakes it only then, too."""
    import asyncio

    task = asyncio.current_task()
    assert task is not None
    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return task


def _report(home: Path, out: Output, error: BaseException) -> None:
    """What went wrong in a run that then ended as failed: a fault of the world, or a mistake of ours."""
    if isinstance(error, Problem):
        out.trouble(error.trouble)
    else:
        from app.crash import complain  # heavy for the first paint, and seldom of use

        complain(error, home, out)
