"""A replay goes on by one step, by several, to a row and to the end, and says where each row comes from."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from core.domain.events import Replied, RequestSent, RunEnded, RunStarted, SessionCreated, UserMessage
from core.domain.text import Text
from core.engine.history.stepped_replay import TO_THE_END, ReplayProgress, SteppedReplay
from core.store.journal import Journal
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.core.store.made import write

SCRIPT = scripted_replies(
    call_reply("write", path="a.txt", content="one\n"), call_reply("read", path="a.txt"), {"text": "Done."}
)


class Player:
    """Follows a replay, and waits for its reports."""

    def __init__(self, scene: EngineHarness, session: str) -> None:
        self.reports: list[ReplayProgress] = []
        self._arrived = asyncio.Event()
        self.replay = SteppedReplay(session, self._report)
        self.scene = scene

    def _report(self, progress: ReplayProgress) -> None:
        self.reports.append(progress)
        self._arrived.set()

    async def after(self, act: Callable[[], None] | None = None) -> ReplayProgress:
        """Let the replay go on, and return its next report."""
        if act:
            self._arrived.clear()
            act()
        await self._arrived.wait()
        return self.reports[-1]

    def origins(self) -> dict[str, str]:
        return {
            f"{row.step.kind} {row.step.object}".strip(): row.origin
            for progress in self.reports
            for row in progress.rows.values()
        }


def test_a_replay_goes_on_by_steps_to_a_row_and_to_the_end(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            (scene.folder / "a.txt").write_text("changed since", "utf-8")
            player = Player(scene, session)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(scene.engine.history.run_replay(player.replay))
                assert not (await player.after()).rows  # it waits before the first step
                first = await player.after(player.replay.advance)
                assert [row.step.kind for row in first.rows.values()] == ["user", "run"] and not first.ended
                second = await player.after(lambda: player.replay.advance(2))
                assert "thinking" in [row.step.kind for row in second.rows.values()]
                recorded = scene.engine.timeline_steps(scene.engine.session(session))
                read = next(step.row for step in recorded if step.kind == "read")
                await player.after(lambda: player.replay.advance_to(read))
                reached = {row for progress in player.reports for row in progress.rows}
                assert read not in reached and read - 1 in reached
                last = await player.after(lambda: player.replay.advance(TO_THE_END))
                assert last.ended and last.different == 0 and last.played > last.supplied > 0
            rows = {row: one.step for progress in player.reports for row, one in progress.rows.items()}
            assert [rows[row] for row in sorted(rows)] == recorded
            assert player.origins()["user Go."] == "supplied" and player.origins()["write a.txt"] == "played"
            assert (scene.folder / "a.txt").read_text("utf-8") == "changed since"
            assert len(scene.engine.sessions()) == 1 and scene.bugs == []

    run_bounded(test())


def test_a_closed_replay_ends_and_leaves_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(SCRIPT)
            player = Player(scene, session)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(scene.engine.history.run_replay(player.replay))
                await player.after()
                await player.after(player.replay.advance)
                player.replay.close()
            assert not player.reports[-1].ended and scene.bugs == []

    run_bounded(test())


def session_with_another_end(home: Path) -> str:
    """Write a session whose end this version of the engine would not write, and return its ID."""

    async def work(journal: Journal) -> str:
        name = "b" * 32
        began = RunStarted("scripted", 60, Text(scripted_replies({"text": "Done."})), mode="auto")
        start = (
            SessionCreated(name, str(home), "How is it?"),
            UserMessage(Text("How is it?")),
            began,
            RequestSent("scripted", 1),
        )
        for event in (*start, Replied(Text("It is sunny.")), RunEnded("limit", "1 turn")):
            await journal.append(name, event)
        return name

    return write(home / "journeyman.db", work)


def test_a_row_that_the_engine_plays_differently_says_how(tmp_path: Path) -> None:
    async def test() -> None:
        session = await asyncio.to_thread(session_with_another_end, tmp_path)
        async with open_engine(tmp_path) as scene:
            player = Player(scene, session)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(scene.engine.history.run_replay(player.replay))
                await player.after()
                last = await player.after(lambda: player.replay.advance(TO_THE_END))
            rows = [row for progress in player.reports for row in progress.rows.values()]
            different = [row for row in rows if row.origin == "different"]
            assert last.different == 1 and "run ended" in different[-1].played
            assert different[-1].step.kind == "end" and player.origins()["reply It is sunny."] == "played"

    run_bounded(test())
