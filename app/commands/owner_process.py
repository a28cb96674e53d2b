"""Runs a command in the process that owns the data folder, which is the one that holds its lock.

If no process does, this one becomes the owner, and also runs the commands of other processes meanwhile.
"""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from app.process.command_server import CommandServer, has_private_sockets, run_in_owner
from app.process.data_folder import lock_path, socket_path
from app.process.data_folder_lock import DataFolderLock, refuse_safe_mode
from app.process.exit_codes import STOPPED, TERMINATED
from app.process.output import Output, in_writer_thread
from app.process.termination import SAVE_S, TerminationWatch, watch_for_termination
from core.domain.problems import Problem

# Attempts, 20 ms apart, to reach a process that may be opening or closing the data folder, which can take seconds.
ATTEMPTS = 500
NO_ANSWER = "Close it or end its process, then try again."


def run_in_owner_process(
    argv: list[str], data_folder: Path, current_folder: Path, out: Output, *, safe: bool = False
) -> int:
    """Run a command in this process if it can lock the data folder, else in its owner. Return the exit code."""
    lock = DataFolderLock(lock_path(data_folder))
    with in_writer_thread(out) as out, asyncio.Runner() as runner:
        while not lock.acquire():
            refuse_safe_mode(safe)
            code = runner.run(_run_in_other_process(argv, data_folder, current_folder, out))
            if code is not None:
                return code
        try:
            return runner.run(_run_here(argv, data_folder, current_folder, out, safe))
        finally:
            lock.release()


async def _run_in_other_process(argv: list[str], data_folder: Path, current_folder: Path, out: Output) -> int | None:
    """Run the command in the process that owns the data folder, and return its exit code.

    Wait while an owner starts or exits. Return None if there is no owner, so that this process can become it.
    """
    watch = watch_for_termination()
    try:
        for _ in range(ATTEMPTS):
            code = await run_in_owner(socket_path(data_folder), argv, current_folder, out)
            if code is not None:
                return code
            await asyncio.sleep(0.02)
            lock = DataFolderLock(lock_path(data_folder))
            if lock.acquire():
                lock.release()
                return None
    except asyncio.CancelledError:
        return STOPPED
    finally:
        watch.close()
    raise Problem(f"The data folder {data_folder} is in use by another Journeyman.", "It does not respond.", NO_ANSWER)


async def _run_here(argv: list[str], data_folder: Path, current_folder: Path, out: Output, safe: bool) -> int:
    watch = watch_for_termination()
    try:
        return await _run_and_serve(argv, data_folder, current_folder, out, safe, watch)
    except asyncio.CancelledError:
        return TERMINATED
    finally:
        watch.close()


async def _run_and_serve(
    argv: list[str], data_folder: Path, current_folder: Path, out: Output, safe: bool, watch: TerminationWatch
) -> int:
    """Run a command as the owner of the data folder, also running commands of other processes meanwhile."""
    task = asyncio.current_task()
    assert task is not None
    with _garbage_collection_paused():
        # Slow imports, which are not needed if another process owns the data folder.
        from app.commands.command_runner import make_command_runner
        from app.process.crash import exception_of_context, report_error
        from app.process.services import build_services

        def report(error: BaseException) -> None:
            report_error(error, data_folder, out)

        asyncio.get_running_loop().set_exception_handler(lambda _, context: report(exception_of_context(context)))
        services = await build_services(data_folder, report, safe=safe)
        database = services.opened.database
        if database:
            watch.save = partial(database.wait_until_written, SAVE_S)
    for warning in services.warnings:
        out.print_error(warning, "warning")
    perform = make_command_runner(services, data_folder)
    owner = CommandServer(socket_path(data_folder), perform)
    try:
        if has_private_sockets() and database:  # each process reads a read-only data folder directly
            await owner.serve()
        code = await perform(argv, current_folder, out)
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


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Pause garbage collection while objects are built that live until the process exits, then exempt these from it.

    Looking for garbage among them would cost time and find none.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
