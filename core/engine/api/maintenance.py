"""Maintenance of the data file: backups, statistics and compaction."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from core.domain.clock import now
from core.domain.problems import Problem
from core.store.backup import Backup, back_up, back_up_daily, backup_paths
from core.store.compact import CompactResult, compact
from core.store.data_folder import DataFolder
from core.store.integrity import IntegrityCheck, IntegrityReport, damage, is_due, read_report, write_report
from core.store.session_sizes import SessionSize, session_sizes
from core.store.untrusted_files import find_missing_files, forget_files
from core.store.usage import UsageRow, read_usage

if TYPE_CHECKING:
    from core.store.tables import DatabaseStats

T = TypeVar("T")


class Maintenance:
    """The part of the engine that maintains the data file. Only `compact` blocks writers while it runs."""

    _opened: DataFolder

    def _current(self, read: Callable[[Path], T]) -> Callable[[], T]:
        """Return a function, to call in a thread, that updates the tables derived from events and then calls `read`."""

        def read_current() -> T:
            self._opened.catch_up()
            return read(self._opened.path)

        return read_current

    async def back_up(self) -> Backup:
        """Write a verified backup without blocking writers."""
        return await asyncio.to_thread(self._current(back_up))

    async def back_up_daily(self) -> None:
        """Write a backup unless one was written today. Also delete the records of files that were deleted long ago.

        Do nothing if the data folder is open read-only.
        """
        database = self._opened.database
        if database is None:
            return
        if await asyncio.to_thread(self._current(back_up_daily)):
            at = now()
            missing = await asyncio.to_thread(find_missing_files, self._opened.path, at)
            await database.run(partial(forget_files, missing=missing, at=at))

    async def check_integrity(self) -> IntegrityReport:
        """Check every page and index of the data file in a thread, without blocking writers; record the result."""
        check = IntegrityCheck(self._opened.path)
        try:
            report = IntegrityReport(now(), await asyncio.to_thread(check.run))
        except asyncio.CancelledError:
            check.interrupt()
            raise
        if self._opened.database is not None:
            await asyncio.to_thread(write_report, self._opened.path, report)
        return report

    async def check_integrity_weekly(self) -> None:
        """Check the data file if the last check is a week ago or found damage. Raise Problem if it is damaged."""
        if self._opened.database is not None and is_due(self._opened.path, now()):
            report = await self.check_integrity()
            if report.errors:
                raise damage(report)

    def last_integrity_check(self) -> IntegrityReport | None:
        """Return the result of the last check of the data file, or None if there was none."""
        return read_report(self._opened.path)

    async def table_statistics(self) -> "DatabaseStats":
        """Return the rows and bytes of each table, counted in a thread. Raise Problem if the data file is damaged."""
        from core.store.tables import collect_stats  # SQLModel is slow to import and only needed here.

        return await asyncio.to_thread(self._current(collect_stats))

    async def session_sizes(self) -> list[SessionSize]:
        """Return how much space each session takes, broken down by kind of data; measured in a thread."""
        return await asyncio.to_thread(self._current(session_sizes))

    async def model_usage(self, since: int = 0, until: int = 0) -> list[UsageRow]:
        """Return the tokens used and their cost per day, model and folder, counted in a thread.

        `since` and `until` are in microseconds since the epoch; 0 means no limit.
        """
        return await asyncio.to_thread(self._current(partial(read_usage, since=since, until=until)))

    def backup_names(self) -> list[str]:
        """List the names of the backups, newest first, without opening them."""
        return [item.stem.removeprefix("journeyman-") for item in backup_paths(self._opened.path)]

    async def compact(self) -> CompactResult:
        """Rewrite the database file to its smallest size. Writes wait until it is done.

        Raise Problem if the data folder is open read-only.
        """
        if self._opened.database is None:
            raise Problem("The data folder cannot be written.", "It is open read-only.", "")
        return await self._opened.database.run(compact, no_transaction=True)
