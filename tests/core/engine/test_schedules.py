"""Sessions that begin at a time: a clock is turned, what is due begins once, what was missed goes by its rule."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.domain.clock import SECOND, now
from core.domain.events import PersonSpoke, RunStarted
from core.domain.problems import Problem
from core.domain.schedule import Schedule, Scheduled
from core.engine.schedules import CUT, Met, Schedules, Wish
from core.models.catalogue import SCRIPTED
from core.store.schedule_book import ScheduleBook
from tests.core.engine.scenes import Scene, bounded, calling, opened, played
from tests.core.workspace.test_branch import git

HOUR = 3600 * SECOND
DONE = played({"text": "Looked."})


class Turned:
    """A clock that stands until it is turned."""

    def __init__(self) -> None:
        self.at = now()

    def __call__(self) -> int:
        return self.at


def watch_of(scene: Scene, clock: Callable[[], int]) -> Schedules:
    services = scene.services
    book = ScheduleBook(services.opened.path, services.opened.database)
    return Schedules(book, lambda: scene.engine.settings.now, scene.engine.start, services.reader.session, clock)


async def add(schedules: Schedules, scene: Scene, **more: Any) -> Schedule:
    wish = Wish("Look after it.", scene.folder, every="1h", model=SCRIPTED, mode="trust", script=DONE)
    return await schedules.add(replace(wish, **more))


async def met(schedules: Schedules, scene: Scene) -> Met:
    [found] = await schedules.look()
    if found.session:
        await scene.engine.wait(found.session)
    return found


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_each_may_work_in_a_worktree_of_its_own(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            clock = Turned()
            schedules = watch_of(scene, clock)
            with pytest.raises(Problem, match="in no git repository"):
                await add(schedules, scene, worktree=True)
            git(scene.folder, "init", "-q", "-b", "main")
            git(scene.folder, "commit", "-q", "--allow-empty", "-m", "one")
            made = await add(schedules, scene, worktree=True)
            assert schedules.all() == [made]
            clock.at = made.due + SECOND
            began = scene.engine.session((await met(schedules, scene)).session)
            [held] = await scene.engine.worktrees.of(scene.folder)
            assert began.folder == held.tree.folder != str(scene.folder)

    bounded(main())


def test_what_is_due_begins_once_and_says_why(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            clock = Turned()
            schedules = watch_of(scene, clock)
            made = await add(schedules, scene)
            assert await schedules.look() == [] and scene.engine.sessions() == []
            clock.at = made.due + SECOND
            found = await met(schedules, scene)
            assert await schedules.look() == []
            assert found.schedule == schedules.all()[0] and found.schedule.due == made.due + HOUR
            assert (found.schedule.session, found.schedule.trouble) == (found.session, "")
            events = await scene.events(found.session)
            assert events[1] == Scheduled(made.id, made.due, "1h")
            assert isinstance(events[2], PersonSpoke) and isinstance(events[3], RunStarted)
            assert (events[3].mode, events[3].attended, events[3].max_rounds) == ("trust", True, 60)
            row = scene.engine.session(found.session)
            assert row.status == "done"
            assert "begun by your schedule" in scene.engine.steps(row)[0].object

    bounded(main())


@pytest.mark.parametrize("missed", ["run", "skip"])
def test_a_time_that_was_missed_goes_by_its_rule(tmp_path: Path, missed: str) -> None:
    """Journeyman was closed for five times: one session, or none; and the next says so."""

    async def main() -> None:
        clock = Turned()
        async with opened(tmp_path) as scene:
            made = await add(watch_of(scene, clock), scene, missed=missed)
        clock.at = made.due + 4 * HOUR + HOUR // 2
        async with opened(tmp_path) as scene:
            schedules = watch_of(scene, clock)
            found = await met(schedules, scene)
            assert bool(found.session) == (missed == "run") and found.schedule.due == made.due + 5 * HOUR
            if missed == "run":
                assert (await scene.events(found.session))[1] == Scheduled(made.id, made.due + 4 * HOUR, "1h", 4, True)
                return
            assert found.schedule.skipped == 5 and scene.engine.sessions() == []
            clock.at = found.schedule.due
            again = await met(schedules, scene)
            assert (await scene.events(again.session))[1] == Scheduled(made.id, clock.at, "1h", 5)
            assert again.schedule.skipped == 0

    bounded(main())


def test_one_at_a_time(tmp_path: Path) -> None:
    """While the session before it waits for the person, no other is begun; once it is over, the next one is."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            clock = Turned()
            schedules = watch_of(scene, clock)
            made = await add(schedules, scene, script=played(calling("ask_user", question="Which?"), {"text": "So."}))
            clock.at = made.due
            [first] = await schedules.look()
            await scene.when(lambda: scene.status(first.session) == "waiting")
            clock.at += HOUR
            [second] = await schedules.look()
            assert second.session == "" and f"{first.session}, is not over" in second.schedule.trouble
            await scene.engine.stop(first.session)
            clock.at += HOUR
            [third] = await schedules.look()
            assert third.session and third.schedule.trouble == ""
            assert (await scene.events(third.session))[1] == Scheduled(made.id, clock.at, "1h", 1)
            await scene.engine.stop(third.session)

    bounded(main())


def test_what_cannot_begin_is_said_and_tried_at_the_next_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            clock = Turned()
            schedules = watch_of(scene, clock)
            made = await add(schedules, scene, model="", script="")
            clock.at = made.due
            found = await met(schedules, scene)
            assert found.session == "" and "No model is set up" in schedules.all()[0].trouble
            scene.folder.rmdir()
            scene.engine.settings.change(model="nope/x")
            clock.at += HOUR
            assert "There is no folder" in (await met(schedules, scene)).schedule.trouble
            scene.folder.mkdir()
            clock.at += HOUR
            assert "no provider 'nope'" in (await met(schedules, scene)).schedule.trouble
            assert schedules.all()[0].skipped == 3 and scene.engine.sessions() == []

    bounded(main())


def test_a_crash_while_beginning_makes_no_second_session_and_is_said(tmp_path: Path) -> None:
    async def main() -> None:
        clock = Turned()
        async with opened(tmp_path) as scene:
            schedules = watch_of(scene, clock)
            made = await add(schedules, scene, at="", every="1h")
            clock.at = made.due

            async def gone(*_: Any, **__: Any) -> str:
                raise asyncio.CancelledError

            schedules._start = gone
            with pytest.raises(asyncio.CancelledError):
                await schedules.look()
        async with opened(tmp_path) as scene:
            schedules = watch_of(scene, clock)
            assert await schedules.look() == [] and schedules.all()[0].trouble == CUT

    bounded(main())


def test_what_is_wrong_is_said_before_anything_is_kept(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            schedules = watch_of(scene, Turned())
            for wrong in (
                {"task": " "},
                {"every": "", "at": ""},
                {"every": "1y"},
                {"at": "noon"},
                {"folder": tmp_path / "no"},
            ):
                with pytest.raises(Problem):
                    await add(schedules, scene, **wrong)
            assert schedules.all() == []
            made = await add(schedules, scene)
            for name in ("", "zz"):
                with pytest.raises(Problem):
                    await schedules.remove(name)
            assert await schedules.remove(made.id) == made and schedules.all() == []

    bounded(main())


def test_the_watch_hears_of_a_new_one_at_once(tmp_path: Path) -> None:
    """It does not wait for its next look."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            clock, told = Turned(), asyncio.Queue[Met]()
            schedules = watch_of(scene, clock)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(schedules.watch(told.put_nowait, scene.bugs.append))
                made = await add(schedules, scene)
                clock.at = made.due
                await add(schedules, scene, task="Another.")
                found = await told.get()
                assert found.session and found.schedule.id == made.id and schedules.watched
                await scene.engine.wait(found.session)
                schedules.leave()
            assert found.schedule in schedules.all() and scene.bugs == []

    bounded(main())
