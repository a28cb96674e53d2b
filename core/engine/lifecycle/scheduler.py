"""Starts scheduled sessions when they are due, as long as Journeyman is running."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from core.domain.clock import SECOND, Clock, now
from core.domain.events import RunStarted, SessionEvent
from core.domain.ids import session_id
from core.domain.modes import DEFAULT_MODE, MODES
from core.domain.problems import Problem
from core.domain.schedule import (
    LATE_AFTER,
    DueTimes,
    MissedPolicy,
    Schedule,
    ScheduleTriggered,
    due_times,
    parse_interval,
    parse_time,
)
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.engine.state.unresolved_calls import UNFINISHED
from core.settings.schema import Settings
from core.store.schedule_store import ScheduleStore
from core.workspace.paths import check_workspace
from core.workspace.worktrees import repository_root

CHECK_INTERVAL_S = 20.0  # A single long timer would be late after the computer has slept.
INTERRUPTED_START = "Journeyman exited while starting the session."


class StartSession(Protocol):
    """Creates a session with its first run, recording the events `origin`, and returns its ID."""

    async def __call__(
        self, task: str, folder: Path, run_start: RunStarted, *origin: SessionEvent, worktree: bool = False
    ) -> str: ...


@dataclass(frozen=True, slots=True)
class ScheduleRequest:
    """A schedule as the user requests it. If `at` is empty, the first run is due one interval from now."""

    task: str
    folder: Path
    at: str = ""
    every: str = ""
    missed: MissedPolicy = "run"
    model: str = ""
    mode: str = DEFAULT_MODE
    script: str = ""
    worktree: bool = False


@dataclass(frozen=True, slots=True)
class DueResult:
    """What happened at a due time: the updated schedule, and the ID of the session that was started, if any."""

    schedule: Schedule
    session: str = ""


class Scheduler:
    """Manages the schedules and starts sessions when they are due.

    Attributes:
        running: whether sessions are started when they are due.
    """

    def __init__(
        self,
        store: ScheduleStore,
        settings: Callable[[], Settings],
        start: StartSession,
        session: Callable[[str], SessionRow | None],
        clock: Clock = now,
    ) -> None:
        self._store = store
        self._settings = settings
        self._start = start
        self._session = session
        self._clock = clock
        self._changed = asyncio.Event()
        self._stopping = False
        self.running = False

    def all(self) -> list[Schedule]:
        return self._store.read()

    async def add(self, request: ScheduleRequest) -> Schedule:
        """Save a schedule. Raise Problem if it is not valid."""
        now_us = self._clock()
        if not request.task.strip():
            raise Problem("There is no task.", "", "Describe the task.")
        if not (request.at or request.every):
            raise Problem("The schedule has no time.", "", "Set a time with --at, an interval with --every, or both.")
        folder = check_workspace(request.folder)
        if request.worktree:
            await asyncio.to_thread(repository_root, folder)
        first_due = _first_due(request, now_us)
        schedule = Schedule(
            id=session_id()[:4],
            task=request.task,
            folder=str(folder),
            model=request.model,
            first_due=first_due,
            due=first_due,
            interval=request.every,
            on_missed=request.missed,
            mode=request.mode,
            script=request.script,
            worktree=request.worktree,
        )
        await self._store.save(schedule)
        self._changed.set()
        return schedule

    async def remove(self, name: str) -> Schedule:
        """Remove a schedule, given its ID or an unambiguous prefix, and return it. The sessions it started stay."""
        matches = [schedule for schedule in self.all() if name and schedule.id.startswith(name)]
        if len(matches) != 1:
            message = f"Several schedules start with {name!r}." if matches else f"There is no schedule {name!r}."
            raise Problem(message, "", "List them with `journeyman schedule`.")
        await self._store.remove(matches[0].id)
        return matches[0]

    def stop(self) -> None:
        """End `run` once the sessions that it is starting have started."""
        self._stopping = True
        self._changed.set()

    async def run(self, on_due: Callable[[DueResult], None], on_error: Callable[[Problem], None]) -> None:
        """Start sessions as they become due, until `stop` is called.

        `on_due` receives the outcome of each due schedule. `on_error` receives errors; the loop continues after them,
        also after an exception in `on_due`.
        If the data folder is open read-only, return at once: the process that may write starts the sessions.
        """
        if not self._store.can_write:
            return

        report = partial(_report_due, on_due, on_error)
        self.running = True
        try:
            while not self._stopping:
                self._changed.clear()
                timeout = CHECK_INTERVAL_S
                try:
                    await self.start_due(report)
                    timeout = self._seconds_to_next_check()
                except Problem as problem:  # The schedules could not be read or written. Try again at the next check.
                    on_error(problem)
                with suppress(TimeoutError):
                    async with asyncio.timeout(timeout):
                        await self._changed.wait()
        finally:
            self.running = False

    def _seconds_to_next_check(self) -> float:
        now_us = self._clock()
        waits = [(schedule.due - now_us) / SECOND for schedule in self.all() if schedule.due is not None]
        return max(0.0, min([CHECK_INTERVAL_S, *waits]))

    async def start_due(self, on_due: Callable[[DueResult], object] = lambda result: None) -> list[DueResult]:
        """Start a session for every schedule that is due. `on_due` receives each result at once."""
        results: list[DueResult] = []
        for schedule in self.all():
            now_us = self._clock()
            if due := due_times(schedule, now_us):
                results.append(await self._start_due(schedule, due, now_us))
                on_due(results[-1])
        return results

    async def _start_due(self, schedule: Schedule, due: DueTimes, now_us: int) -> DueResult:
        """Start the session of a schedule, or skip it.

        The next due time is saved first, so that a crash can lose a start but never cause two.
        """
        is_late = now_us - due.last > LATE_AFTER
        previous = self._session(schedule.last_session) if schedule.last_session else None
        updated = replace(schedule, due=due.next, missed_count=schedule.missed_count + due.count, error="")
        if previous and previous.status in UNFINISHED:
            why = f"The previous session {previous.id} has not ended: it is {previous.status}."
            return await self._save_change(replace(updated, error=why))
        if is_late and schedule.on_missed == "skip":
            return await self._save_change(updated)
        if not await self._store.update(replace(updated, error=INTERRUPTED_START)):
            return DueResult(updated)  # The schedule was removed meanwhile.
        trigger = ScheduleTriggered(
            schedule_id=schedule.id,
            due=due.last,
            interval=schedule.interval,
            missed_count=updated.missed_count - 1,
            late=is_late,
        )
        try:
            run_settings = self._run_settings(schedule)
            session = await self._start(
                schedule.task, Path(schedule.folder), run_settings, trigger, worktree=schedule.worktree
            )
        except Problem as problem:
            return await self._save_change(replace(updated, error=str(problem)))
        except Exception as error:  # A bug in one start must not end the scheduler.
            return await self._save_change(replace(updated, error=f"Internal error: {type(error).__name__}: {error}"))
        return await self._save_change(replace(updated, last_session=session, missed_count=0), session)

    async def _save_change(self, updated: Schedule, session: str = "") -> DueResult:
        await self._store.update(updated)
        return DueResult(updated, session)

    def _run_settings(self, schedule: Schedule) -> RunStarted:
        """Return the RunStarted event for a schedule: its model, or the default one, and the current limits.

        The run is interactive, so at a limit it waits for the user. Raises Problem if there is no model.
        """
        settings = self._settings()
        model = schedule.model or settings.model
        if not model:
            raise Problem("No model is set up.", "Neither the schedule nor the settings name one.", "Choose a model.")
        return RunStarted(
            model=model,
            max_turns=settings.max_turns,
            script=Text(schedule.script),
            max_minutes=settings.max_minutes,
            max_tokens=settings.max_tokens,
            max_cost=settings.max_cost,
            interactive=True,
            mode=next((mode for mode in MODES if mode == schedule.mode), DEFAULT_MODE),
        )


def _first_due(request: ScheduleRequest, now_us: int) -> int:
    """Return the first time of a schedule in microseconds. Raise Problem if its time or its interval is not valid."""
    interval = parse_interval(request.every) if request.every else None
    if request.at or interval is None:
        return parse_time(request.at, now_us)
    return now_us + interval.microseconds


def _report_due(on_due: Callable[[DueResult], None], on_error: Callable[[Problem], None], result: DueResult) -> None:
    try:
        on_due(result)
    except Exception as error:  # A bug in the callback must not end the scheduler.
        on_error(Problem(f"Internal error: {type(error).__name__}: {error}", "", "Report this to the developer."))
