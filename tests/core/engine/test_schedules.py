"""Scheduled sessions: due ones start once, and missed ones follow their rule. The clock is controlled by the tests."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.domain.clock import SECOND, now
from core.domain.events import RunStarted, UserMessage
from core.domain.problems import Problem
from core.domain.schedule import Schedule, ScheduleTriggered
from core.engine.lifecycle.scheduler import INTERRUPTED_START, DueResult, Scheduler, ScheduleRequest
from core.models.catalog import SCRIPTED
from core.store.schedule_store import ScheduleStore
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.core.workspace.test_git_branch import git

HOUR = 3600 * SECOND
DONE = scripted_replies({"text": "Looked."})


class ManualClock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.at = now()

    def __call__(self) -> int:
        return self.at


def open_scheduler(scene: EngineHarness, clock: Callable[[], int]) -> Scheduler:
    services = scene.services
    book = ScheduleStore(services.opened.path, services.opened.database)
    return Scheduler(book, lambda: scene.engine.settings.current, scene.engine.start, services.reader.session, clock)


async def add(schedules: Scheduler, scene: EngineHarness, **more: Any) -> Schedule:
    wish = ScheduleRequest("Look after it.", scene.folder, every="1h", model=SCRIPTED, mode="auto", script=DONE)
    return await schedules.add(replace(wish, **more))


async def start_due(schedules: Scheduler, scene: EngineHarness) -> DueResult:
    [found] = await schedules.start_due()
    if found.session:
        await scene.engine.wait_idle(found.session)
    return found


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_each_session_may_use_its_own_worktree(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            clock = ManualClock()
            schedules = open_scheduler(scene, clock)
            with pytest.raises(Problem, match="not in a usable git repository"):
                await add(schedules, scene, worktree=True)
            git(scene.folder, "init", "-q", "-b", "main")
            git(scene.folder, "commit", "-q", "--allow-empty", "-m", "one")
            made = await add(schedules, scene, worktree=True)
            assert schedules.all() == [made]
            clock.at = made.first_due + SECOND
            began = scene.engine.session((await start_due(schedules, scene)).session)
            [held] = await scene.engine.worktrees.in_repository(scene.folder)
            assert began.folder == held.tree.folder != str(scene.folder)

    run_bounded(main())


def test_a_due_schedule_starts_once_and_records_why(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            clock = ManualClock()
            schedules = open_scheduler(scene, clock)
            made = await add(schedules, scene)
            assert await schedules.start_due() == [] and scene.engine.sessions() == []
            clock.at = made.first_due + SECOND
            found = await start_due(schedules, scene)
            assert await schedules.start_due() == []
            assert found.schedule == schedules.all()[0] and found.schedule.due == made.first_due + HOUR
            assert (found.schedule.last_session, found.schedule.error) == (found.session, "")
            events = await scene.events(found.session)
            assert events[1] == ScheduleTriggered(made.id, made.first_due, "1h")
            assert isinstance(events[2], UserMessage) and isinstance(events[3], RunStarted)
            assert (events[3].mode, events[3].interactive, events[3].max_turns) == ("auto", True, 60)
            row = scene.engine.session(found.session)
            assert row.status == "done"
            assert "started by your schedule" in scene.engine.timeline_steps(row)[0].object

    run_bounded(main())


@pytest.mark.parametrize("missed", ["run", "skip"])
def test_missed_times_follow_the_rule_of_the_schedule(tmp_path: Path, missed: str) -> None:
    """After five missed times, one session (`run`) or none (`skip`) starts. The next event says how many it missed."""

    async def main() -> None:
        clock = ManualClock()
        async with open_engine(tmp_path) as scene:
            made = await add(open_scheduler(scene, clock), scene, missed=missed)
        clock.at = made.first_due + 4 * HOUR + HOUR // 2
        async with open_engine(tmp_path) as scene:
            schedules = open_scheduler(scene, clock)
            found = await start_due(schedules, scene)
            assert bool(found.session) == (missed == "run") and found.schedule.due == made.first_due + 5 * HOUR
            if missed == "run":
                assert (await scene.events(found.session))[1] == ScheduleTriggered(
                    made.id, made.first_due + 4 * HOUR, "1h", 4, True
                )
                return
            assert found.schedule.missed_count == 5 and scene.engine.sessions() == []
            assert found.schedule.due is not None
            clock.at = found.schedule.due
            again = await start_due(schedules, scene)
            assert (await scene.events(again.session))[1] == ScheduleTriggered(made.id, clock.at, "1h", 5)
            assert again.schedule.missed_count == 0

    run_bounded(main())


def test_one_session_of_a_schedule_at_a_time(tmp_path: Path) -> None:
    """No session starts while the previous one waits for the user. Once it has ended, the next one starts."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            clock = ManualClock()
            schedules = open_scheduler(scene, clock)
            made = await add(
                schedules, scene, script=scripted_replies(call_reply("ask_user", question="Which?"), {"text": "So."})
            )
            clock.at = made.first_due
            [first] = await schedules.start_due()
            await scene.when(lambda: scene.status(first.session) == "waiting")
            clock.at += HOUR
            [second] = await schedules.start_due()
            assert second.session == "" and f"{first.session} has not ended" in second.schedule.error
            await scene.engine.stop(first.session)
            clock.at += HOUR
            [third] = await schedules.start_due()
            assert third.session and third.schedule.error == ""
            assert (await scene.events(third.session))[1] == ScheduleTriggered(made.id, clock.at, "1h", 1)
            await scene.engine.stop(third.session)

    run_bounded(main())


def test_a_failed_start_is_reported_and_retried_at_the_next_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            clock = ManualClock()
            schedules = open_scheduler(scene, clock)
            made = await add(schedules, scene, model="", script="")
            clock.at = made.first_due
            found = await start_due(schedules, scene)
            assert found.session == "" and "No model is set up" in schedules.all()[0].error
            scene.folder.rmdir()
            scene.engine.settings.change(model="nope/x")
            clock.at += HOUR
            assert "There is no folder" in (await start_due(schedules, scene)).schedule.error
            scene.folder.mkdir()
            clock.at += HOUR
            assert "no provider 'nope'" in (await start_due(schedules, scene)).schedule.error
            assert schedules.all()[0].missed_count == 3 and scene.engine.sessions() == []

    run_bounded(main())


def test_a_crash_during_a_start_makes_no_second_session_and_is_reported(tmp_path: Path) -> None:
    async def main() -> None:
        clock = ManualClock()
        async with open_engine(tmp_path) as scene:
            schedules = open_scheduler(scene, clock)
            made = await add(schedules, scene, at="", every="1h")
            clock.at = made.first_due

            async def gone(*_: Any, **__: Any) -> str:
                raise asyncio.CancelledError

            schedules._start = gone
            with pytest.raises(asyncio.CancelledError):
                await schedules.start_due()
        async with open_engine(tmp_path) as scene:
            schedules = open_scheduler(scene, clock)
            assert await schedules.start_due() == [] and schedules.all()[0].error == INTERRUPTED_START

    run_bounded(main())


def test_invalid_schedules_are_refused_before_they_are_stored(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            schedules = open_scheduler(scene, ManualClock())
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
            other = await add(schedules, scene)
            while other.id[0] != made.id[0]:
                other = await add(schedules, scene)
            with pytest.raises(Problem, match="Several schedules"):
                await schedules.remove(made.id[0])
            assert await schedules.remove(made.id) == made and other in schedules.all()

    run_bounded(main())


def test_the_watcher_notices_a_new_schedule_at_once(tmp_path: Path) -> None:
    """Adding a schedule does not wait for the next check."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            clock, told = ManualClock(), asyncio.Queue[DueResult]()
            schedules = open_scheduler(scene, clock)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(schedules.run(told.put_nowait, scene.bugs.append))
                made = await add(schedules, scene)
                clock.at = made.first_due
                await add(schedules, scene, task="Another.")
                found = await told.get()
                assert found.session and found.schedule.id == made.id and schedules.running
                await scene.engine.wait_idle(found.session)
                schedules.stop()
            assert found.schedule in schedules.all() and scene.bugs == []

    run_bounded(main())


def test_a_bug_in_one_start_ends_neither_the_scheduler_nor_the_other_starts(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            clock, told = ManualClock(), asyncio.Queue[DueResult]()
            schedules = open_scheduler(scene, clock)
            made = [await add(schedules, scene, task=task) for task in ("First.", "Second.")]
            start = schedules._start

            async def fail_once(*arguments: Any, **options: Any) -> str:
                schedules._start = start
                raise KeyError("broken")

            schedules._start = fail_once
            clock.at = max(schedule.first_due for schedule in made)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(schedules.run(told.put_nowait, scene.bugs.append))
                failed, started = await told.get(), await told.get()
                schedules.stop()
            assert failed.session == "" and "Internal error: KeyError" in failed.schedule.error
            await scene.engine.wait_idle(started.session)
            assert scene.bugs == [] and failed.schedule in schedules.all()

    run_bounded(main())


def test_an_exception_in_the_listener_does_not_end_the_scheduler(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            clock, told, errors = ManualClock(), asyncio.Queue[DueResult](), list[Problem]()
            schedules = open_scheduler(scene, clock)

            def fail_once(result: DueResult) -> None:
                if not errors:
                    raise KeyError("broken")
                told.put_nowait(result)

            made = [await add(schedules, scene, task=task) for task in ("First.", "Second.")]
            clock.at = max(schedule.first_due for schedule in made)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(schedules.run(fail_once, errors.append))
                started = await told.get()
                schedules.stop()
            assert "KeyError" in str(errors[0]) and len(errors) == 1
            for schedule in schedules.all():
                assert schedule.last_session
                await scene.engine.wait_idle(schedule.last_session)
            assert started.session

    run_bounded(main())
