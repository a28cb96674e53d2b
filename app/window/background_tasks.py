"""What the engine does in the background while the window is open: the daily backup, reviews, schedules and imports."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from app.process.services import Services
from app.window.live_exchange import run_live_exchange
from core.domain.problems import Problem
from core.engine.api.engine import Engine
from core.engine.lifecycle.scheduler import DueResult

Report = Callable[[BaseException], None]


async def run_background_tasks(services: Services, window_closed: Future[None], report: Report, *, safe: bool) -> None:
    """Run the background tasks until the window closes; safe mode has no schedules, embedder or live exchange."""
    engine = services.engine
    await _do_daily_maintenance(engine, report)

    def report_schedule(result: DueResult) -> None:
        """Report a schedule that could not start its session. The window lists started sessions anyway."""
        if error := result.schedule.error:
            what = f"The schedule {result.schedule.id} could not start."
            report(Problem(what, error, "See Settings, Schedules."))

    async with asyncio.TaskGroup() as tasks:
        endless = [
            tasks.create_task(services.reviews.run(), name="reviews"),
            tasks.create_task(engine.exchange.keep_indexing(report), name="index imports"),
            tasks.create_task(_check_integrity(engine, report), name="check integrity"),
        ]
        if not safe:
            endless.append(tasks.create_task(services.semantic_search.run(), name="semantic search"))
            tasks.create_task(engine.schedules.run(report_schedule, report), name="schedules")
            tasks.create_task(run_live_exchange(engine, window_closed, report), name="exchange live")
        await asyncio.wrap_future(window_closed)
        engine.schedules.stop()
        for task in endless:
            task.cancel()


async def _do_daily_maintenance(engine: Engine, report: Report) -> None:
    """Make the daily backup, purge expired trash and tidy the memories; report the first Problem and stop there."""
    try:
        await engine.back_up_daily()
        if engine.can_write:
            await engine.archive.purge_expired()
            await engine.memory.tidy()
    except Problem as problem:
        report(problem)


async def _check_integrity(engine: Engine, report: Report) -> None:
    try:
        await engine.check_integrity_weekly()
    except Problem as problem:
        report(problem)
