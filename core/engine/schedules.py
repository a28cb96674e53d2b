"""Begins the sessions whose time has come, while Journeyman is there to do it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from core.domain.clock import SECOND, Clock, now
from core.domain.events import RunEvent, RunStarted
from core.domain.ids import session_id
from core.domain.modes import DEFAULT_MODE, MODES
from core.domain.problems import Problem
from core.domain.schedule import GRACE, Missed, Schedule, Scheduled, come, read_every, read_when
from core.domain.sessions import SessionRow
from core.domain.text import Text
from core.engine.doubt import GOES_ON
from core.settings.schema import Settings
from core.store.schedule_book import ScheduleBook
from core.workspace.paths import workspace
from core.workspace.worktree import repository

LOOK_S = 20.0  # a computer that slept tells nobody how long
CUT = "Journeyman ended while it was being begun."


class Start(Protocol):
    """Open a session with its first run, and with why it is there; its id."""

    async def __call__(
        self, task: str, folder: Path, began: RunStarted, *why: RunEvent, worktree: bool = False
    ) -> str: ...


@dataclass(frozen=True, slots=True)
class Wish:
    """A schedule as a person asks for it. `at` empty: the first time is one interval from now."""

    task: str
    folder: Path
    at: str = ""
    every: str = ""
    missed: Missed = "run"
    model: str = ""
    mode: str = DEFAULT_MODE
    script: str = ""
    worktree: bool = False


@dataclass(frozen=True, slots=True)
class Met:
    """What became of a time that came: the schedule as it is now, and the session that was begun, if one was."""

    schedule: Schedule
    session: str = ""


class Schedules:
    """The schedules there are, and the watch over them.

    Attributes:
        watched: somebody looks after them, so that what is due begins.
    """

    def __init__(
        self,
        book: ScheduleBook,
        settings: Callable[[], Settings],
        start: Start,
        session: Callable[[str], SessionRow | None],
        clock: Clock = now,
    ) -> None:
        self._book = book
        self._settings = settings
        self._start = start
        self._session = session
        self._clock = clock
        self._changed = asyncio.Event()
        self._leaving = False
        self.watched = False

    def all(self) -> list[Schedule]:
        return self._book.read()

    async def add(self, wish: Wish) -> Schedule:
        """Keep what a person asks for, or say what is wrong with it."""
        moment = self._clock()
        if not wish.task.strip():
            raise Problem("There is no task.", "", "Say what is to be done.")
        if not (wish.at or wish.every):
            raise Problem("There is no time.", "", "Name one with --at, or an interval with --every, or both.")
        folder = workspace(wish.folder)
        if wish.worktree:
            await asyncio.to_thread(repository, folder)
        number, step = read_every(wish.every) if wish.every else (0, timedelta())
        first = read_when(wish.at, moment) if wish.at else moment + number * step // timedelta(microseconds=1)
        made = Schedule(
            session_id()[:4], wish.task, str(folder), wish.model, first, first, wish.every, wish.missed, wish.mode,
            wish.script, worktree=wish.worktree,
        )  # fmt: skip
        await self._book.keep(made)
        self._changed.set()
        return made

    async def remove(self, name: str) -> Schedule:
        """What it was; the sessions it began stay."""
        found = [one for one in self.all() if name and one.id.startswith(name)]
        if len(found) != 1:
            raise Problem(f"There is no schedule {name!r}.", "", "List them with `journeyman schedule list`.")
        await self._book.remove(found[0].id)
        return found[0]

    def leave(self) -> None:
        """End the watch, once what it is beginning has begun."""
        self._leaving = True
        self._changed.set()

    async def watch(self, tell: Callable[[Met], None], report: Callable[[Problem], None]) -> None:
        """Until `leave`: begin what is due, wait for the next. `tell` hears what became of each."""
        if not self._book.can_write:
            return
        self.watched = True
        try:
            while not self._leaving:
                self._changed.clear()
                left = LOOK_S
                try:
                    for met in await self.look():
                        tell(met)
                    left = self._left()
                except Problem as problem:  # the file cannot be read or written now; it may be later
                    report(problem)
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await self._changed.wait()
        finally:
            self.watched = False

    def _left(self) -> float:
        """Seconds until the next is due."""
        due = min((one.due for one in self.all() if one.due), default=0)
        return min(LOOK_S, max(0.0, (due - self._clock()) / SECOND)) if due else LOOK_S

    async def look(self) -> list[Met]:
        """Begin what is due now."""
        return [await self._meet(found) for found in self.all() if come(found, self._clock())]

    async def _meet(self, found: Schedule) -> Met:
        """Its next time is kept first: a crash here costs one beginning, and never makes two."""
        moment = self._clock()
        met = come(found, moment)
        assert met is not None
        late = moment - met.last > GRACE
        before = self._session(found.session) if found.session else None
        after = replace(found, due=met.following, skipped=found.skipped + met.count, trouble="")
        if before and before.status in GOES_ON:
            why = f"The session before it, {before.id}, is not over: {before.status}."
            return await self._kept(replace(after, trouble=why))
        if late and found.missed == "skip":
            return await self._kept(after)
        if not await self._book.change(replace(after, trouble=CUT)):
            return Met(after)  # it was removed meanwhile
        why_here = Scheduled(found.id, met.last, found.every, after.skipped - 1, late)
        try:
            folder, began = Path(found.folder), self._began(found)
            session = await self._start(found.task, folder, began, why_here, worktree=found.worktree)
        except Problem as problem:
            return await self._kept(replace(after, trouble=str(problem)))
        return await self._kept(replace(after, session=session, skipped=0), session)

    async def _kept(self, after: Schedule, session: str = "") -> Met:
        await self._book.change(after)
        return Met(after, session)

    def _began(self, found: Schedule) -> RunStarted:
        """With the limits and the model of now. It pauses at a limit: the person finds it so."""
        settings = self._settings()
        model = found.model or settings.model
        if not model:
            raise Problem("No model is set up.", "Neither the schedule nor the settings name one.", "Choose one.")
        return RunStarted(
            model, settings.max_rounds, Text(found.script), settings.max_minutes, settings.max_tokens,
            settings.max_cost, attended=True, mode=next((mode for mode in MODES if mode == found.mode), DEFAULT_MODE),
        )  # fmt: skip
