"""The command `db`: backs up, checks, repairs, restores and compacts the database."""

import argparse
from pathlib import Path

from app.commands.invocation import Invocation
from app.process import data_folder
from app.process.data_folder_lock import DataFolderLock
from app.process.exit_codes import DONE
from app.process.output import Output
from core.domain.problems import Problem
from core.store.backup import backup_folder, newest_valid_backup, verify
from core.store.backup import restore as restore_backup
from core.store.data_folder import repair_data_folder
from core.store.integrity import damage


async def db(context: Invocation) -> int:
    """Back up, check or compact the open database. `db restore` and `db repair` need it closed and do not come here."""
    if context.args.action == "backup":
        return await _backup(context)
    if context.args.action == "compact":
        return await _compact(context)
    if context.args.action == "check":
        return await _check(context)
    fix = "Close it, then try again."
    raise Problem("The data is in use by another Journeyman.", "This replaces the database file.", fix)


def restore_or_repair(folder: Path, args: argparse.Namespace, out: Output) -> int:
    """Run `db restore` or `db repair`, holding the lock on the data folder so that no process has the database open."""
    lock = DataFolderLock(data_folder.lock_path(folder))
    if not lock.acquire():
        fix = "Close Journeyman, then try again."
        raise Problem("The data is in use by another Journeyman.", "This replaces the database file.", fix)
    try:
        return _repair(folder, out) if args.action == "repair" else _restore(folder, args.name, out)
    finally:
        lock.release()


def _restore(folder: Path, name: str, out: Output) -> int:
    """Replace the database with a backup; without a name, the newest valid one. The old file is kept, renamed.

    The caller holds the lock on the data folder.
    """
    path = data_folder.database_path(folder)
    backup = verify(backup_folder(path) / Path(name).name) if name else newest_valid_backup(path)
    if backup is None:
        raise Problem("There is no good backup.", f"None was found in {backup_folder(path)}.", "")
    aside = restore_backup(path, backup.path)
    out.write(f"Restored {backup.summary}.")
    if aside:
        out.write(f"The previous data is kept in {aside}.")
    return DONE


def _repair(folder: Path, out: Output) -> int:
    """Check the whole database and repair it if it is damaged. The caller holds the lock on the data folder."""
    check = repair_data_folder(folder)
    for warning in check.warnings:
        out.write(str(warning))
    if check.repair is None:
        out.write("The database is not damaged.")
    return DONE


async def _check(context: Invocation) -> int:
    report = await context.engine.check_integrity()
    for error in report.errors:
        context.out.write(error)
    if report.errors:
        raise damage(report)
    context.out.write("The database is not damaged.")
    return DONE


async def _backup(context: Invocation) -> int:
    backup = await context.engine.back_up()
    health = backup.health
    context.out.write(f"Backed up to {backup.path}: {health.events:,} events in {health.sessions:,} sessions.")
    return DONE


async def _compact(context: Invocation) -> int:
    sizes = await context.engine.compact()
    context.out.write(f"Compacted from {sizes.before / 2**20:.1f} MB to {sizes.after / 2**20:.1f} MB.")
    return DONE
