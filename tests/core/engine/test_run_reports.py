"""Reports of real runs: their statuses, their times, their tasks, and how their calls ended."""

import asyncio
import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.clock import SECOND
from core.domain.events import (
    BackgroundCommandEnded,
    CallRefused,
    CallStarted,
    FileChanged,
    Replied,
    ReplyInterrupted,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunStarted,
    ToolReturned,
    UserMessage,
)
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.question import QuestionAsked
from core.domain.search_query import STATUSES
from core.domain.text import Text
from core.engine.history.session_analytics import SessionAnalytics
from core.engine.state import token_counts
from core.settings.schema import Settings
from core.store.journal import Journal
from core.store.reader import Reader
from core.timeline.run_report import duration_s
from core.timeline.run_summary import RunSummary
from core.tools import catalogue
from core.tools.tool import ToolResult
from core.tools.tool_context import ToolContext
from tests.core.engine.harness import (
    EngineHarness,
    call_reply,
    crash,
    open_engine,
    run_bounded,
    scripted_replies,
)
from tests.core.store.made import dump, write
from tests.sessions import create_session

ASK = call_reply("ask_user", question="Which?")
ENDLESS = scripted_replies({"text": "never", "delay_s": 3600})


async def only_run(scene: EngineHarness, session: str) -> RunSummary:
    (run,) = await scene.engine.analytics.runs(session)
    return run


def test_V_B8_every_status_can_be_reached(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            find = call_reply("find", pattern="*")
            ends = {
                "done": await scene.run(scripted_replies({"text": "ok"})),
                "limit": await scene.run(scripted_replies(find, then="loop"), max_turns=2),
                "failed": await scene.run(scripted_replies({"fault": "rate_limited", "retry_after_s": 3600})),
            }
            for status in ("stopped", "interrupted", "running"):
                ends[status] = await scene.start(ENDLESS)
            ends["waiting"] = await scene.start(scripted_replies(ASK))
            script = Text(scripted_replies({"fault": "rate_limited", "retry_after_s": 3600}))
            began = RunStarted("scripted", script=script, interactive=True)
            ends["paused"] = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(ends["paused"])
            await scene.until(QuestionAsked)
            await scene.engine.stop(ends["stopped"])
            assert ends.keys() == set(STATUSES), "every status that the search offers"
            found = {status: scene.status(session) for status, session in ends.items()}
            assert found == {status: status for status in ends} | {"interrupted": "running"}
            summaries = {status: (await only_run(scene, ends[status])).status for status in ends}
            # A run that waits is running until it is answered: its report says that it waits.
            assert summaries == {status: status for status in ends} | {"interrupted": "running", "waiting": "running"}
            await crash(scene)
        async with open_engine(tmp_path) as scene:
            assert scene.status(ends["interrupted"]) == "interrupted" and scene.status(ends["waiting"]) == "waiting"
            assert (await only_run(scene, ends["interrupted"])).status == "interrupted"
            written = {status: (await scene.events(session))[-1] for status, session in ends.items()}
            ended = {status: event.status for status, event in written.items() if isinstance(event, RunEnded)}
            assert ended == {"done": "completed", "limit": "limit", "failed": "failed", "stopped": "stopped"}
            assert isinstance(written["paused"], RunPaused) and isinstance(written["interrupted"], RunInterrupted)
            assert isinstance(written["running"], RunInterrupted), "the crash interrupted it as well"

    run_bounded(main())


def test_V1_an_active_run_lasts_until_now_and_an_ended_one_until_its_end(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(ENDLESS)
            await scene.until(RequestSent)
            run = await only_run(scene, session)
            reader, journal = scene.services.reader, scene.services.runs._journal
            later = run.started_at + 90 * SECOND
            analytics = SessionAnalytics(journal, reader, scene.engine.is_active, lambda: later)
            (active,) = await analytics.runs(session)
            assert active.status == "running" and duration_s(active) == 90
            await scene.engine.stop(session)
            (ended,) = await analytics.runs(session)
            assert ended.status == "stopped" and duration_s(ended) < 90

    run_bounded(main())


def test_V8_each_call_is_timed_and_a_tool_error_is_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(parameters: object, context: ToolContext) -> ToolResult:
        raise KeyError("x")

    monkeypatch.setattr(catalogue, "TOOLS", {**catalogue.TOOLS, "find": replace(catalogue.TOOLS["find"], run=fail)})

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("one")
            reads = call_reply("find", pattern="*"), call_reply("read", path="a.txt")
            session = await scene.run(scripted_replies(*reads, {"text": "Done"}))
            assert scene.status(session) == "done" and not scene.bugs
            entries = [entry async for entry in scene.engine.events(session)]
            times = [entry.at for entry in entries if isinstance(entry.event, CallStarted | ToolReturned)]
            failed, done = (await only_run(scene, session)).calls.values()
            assert (failed.status, failed.output, done.status) == ("failed", "KeyError: 'x'", "done")
            assert [failed.started_at, failed.ended_at, done.started_at, done.ended_at] == times

    run_bounded(main())


def test_V11_the_cause_is_the_end_of_a_long_output(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = "seq 1 2000; echo 'The disk is purple.'; exit 3"
            session = await scene.run(scripted_replies(call_reply("run", command=script), {"text": "Done"}))
            await scene.engine.history.rate(session, "down")
            (failure,) = await scene.engine.analytics.failures()
            assert failure.root_cause and failure.root_cause.output == "The disk is purple."

    run_bounded(main())


def test_X6_the_task_of_a_run_is_its_message_as_the_user_edited_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(ENDLESS, "Paint the fence.")
            await scene.until(RequestSent)
            for text in ("Oil the gaet.", "Also the roof."):
                await scene.engine.send_message(session, text)
            await scene.engine.stop(session)
            gate, roof = await scene.engine.queue.list(session)
            await scene.engine.queue.edit(session, gate.seq, "Oil the gate.\nWith linseed.")
            index = await scene.engine.queue.remove(session, roof.seq)
            await scene.engine.queue.send_now(session, gate.seq)
            await scene.until(RunStarted, 2)
            tasks = [run.task for run in await scene.engine.analytics.runs(session)]
            assert tasks == ["Paint the fence.", "Oil the gate."]
            assert [hit.session for hit in await scene.engine.search("linseed")] == [session]
            await scene.engine.stop(session)
            await scene.engine.queue.restore(session, roof.seq, index)
            await scene.engine.queue.send_now(session, roof.seq)
            await scene.until(RunStarted, 3)
            assert [run.task for run in await scene.engine.analytics.runs(session)][2] == "Also the roof."
            await scene.engine.stop(session)

    run_bounded(main())


def test_a_file_of_a_background_command_is_recorded_once(tmp_path: Path) -> None:
    """Also if a foreground command runs at the same time, whose scan of the folder finds the file, too."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            wait = "while [ ! -e {} ]; do sleep 0.05; done; "
            session = await scene.start(
                scripted_replies(
                    call_reply("run", command=wait.format("begun") + "echo one > made", background=True),
                    call_reply("run", command="touch begun; " + wait.format("ended") + "echo two > own"),
                    {"text": "Done"},
                )
            )
            await scene.until(BackgroundCommandEnded)
            (scene.folder / "ended").touch()
            await scene.engine.wait_idle(session)
            changes = [event for event in await scene.events(session) if isinstance(event, FileChanged)]
            assert sorted(change.path for change in changes) == ["begun", "ended", "made", "own"]
            assert {change.path: change.call_id for change in changes}["made"] == "r1c1"
            assert (await only_run(scene, session)).files["made"] == (1, 0)

    run_bounded(main())


def test_a_change_of_the_mode_alone_is_recorded_once_for_the_command_that_made_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            wait = "while [ ! -e {} ]; do sleep 0.05; done; "
            session = await scene.start(
                scripted_replies(
                    call_reply("run", command="touch a b"),
                    call_reply("run", command=wait.format("begun") + "chmod 700 a", background=True),
                    call_reply("run", command="touch begun; " + wait.format("ended") + "chmod 700 b"),
                    {"text": "Done"},
                )
            )
            await scene.until(BackgroundCommandEnded)
            (scene.folder / "ended").touch()
            await scene.engine.wait_idle(session)
            changes = [event for event in await scene.events(session) if isinstance(event, FileChanged)]
            assert [(change.path, change.call_id) for change in changes if change.mode_after == 0o700] == [
                ("a", "r2c1"),
                ("b", "r3c1"),
            ]

    run_bounded(main())


def test_V_B6_a_fork_exists_completely_or_not_at_all(tmp_path: Path) -> None:
    """The database refuses one of the last events of the fork."""
    refuse = """CREATE TRIGGER refuse BEFORE INSERT ON event WHEN NEW.kind = 'session_forked'
        BEGIN SELECT RAISE(ABORT, 'no'); END"""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies(call_reply("find", pattern="*"), {"text": "Done"}))
            database = scene.services.opened.database
            assert database is not None
            await database.run(lambda db: db.execute(refuse))
            before = dump(tmp_path / "journeyman.db")
            with pytest.raises(sqlite3.IntegrityError):
                await scene.engine.history.fork(session)
            after = dump(tmp_path / "journeyman.db")
            assert {table: after[table] for table in ("session", "event", "step", "blob")} == {
                table: before[table] for table in ("session", "event", "step", "blob")
            }
            await database.run(lambda db: db.execute("DROP TRIGGER refuse"))
            fork = await scene.engine.history.fork(session)
            assert len(await scene.events(fork)) == len(await scene.events(session)) + 1

    run_bounded(main())


def test_A30_a_query_for_one_session_reads_only_that_session(tmp_path: Path) -> None:
    """Counts the instructions of the database: reading the rows of other sessions, too, would show."""
    path = tmp_path / "journeyman.db"

    async def fill(journal: Journal) -> str:
        name = await create_session(journal, "/", "A session")
        await journal.append(name, UserMessage(Text("x")), RunStarted("m"), RunEnded("completed"))
        return name

    def count_instructions(session: str) -> int:
        counted = [0]

        def count() -> int:
            counted[0] += 1
            return 0

        reader = Reader(path)
        try:
            reader._db.set_progress_handler(count, 1)
            analytics = SessionAnalytics(Journal(None, reader), reader)
            asyncio.run(analytics.runs(session))
            analytics.compare(session, session)
        finally:
            reader.close()
        return counted[0]

    session, _ = write(path, fill), write(path, fill)
    before = count_instructions(session)
    for _ in range(30):
        write(path, fill)
    assert before > 100 and count_instructions(session) == before


def test_P1_a_limit_of_0_turns_is_no_limit(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            default = Settings().max_turns
            assert default == 60
            finds = [call_reply("find", pattern=f"{number}*") for number in range(default + 1)]
            session = await scene.run(scripted_replies(*finds, {"text": "Done"}), max_turns=0)
            run = await only_run(scene, session)
            assert run.status == "done" and run.turns == default + 2 == len(run.calls) + 1

    run_bounded(main())


def test_L15_each_message_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: Counter[tuple[int, str, str]] = Counter()
    count_tokens = token_counts.message_tokens

    def count(message: Message) -> int:
        counted[message.seq, message.role, message.call_id] += 1
        return count_tokens(message)

    monkeypatch.setattr(token_counts, "message_tokens", count)

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            finds = [call_reply("find", pattern=f"{number}*") for number in range(8)]
            session = await scene.run(scripted_replies(*finds, {"text": "Done"}))
            messages = (await scene.services.runs.conversation(session)).messages
            assert set(counted.values()) == {1} and len(counted) >= len(messages) - 1  # the last one is not sent

    run_bounded(main())


def test_L24_an_interrupted_reply_is_requested_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            cut = {"fault": "cut", "text": "Half a sentence", "after_chars": 6}
            session = await scene.run(scripted_replies(cut, {"text": "A whole one."}))
            events = await scene.events(session)
            (part,) = [event for event in events if isinstance(event, ReplyInterrupted)]
            assert part.text.head == "Half a" and sum(isinstance(event, RequestSent) for event in events) == 2
            run = await only_run(scene, session)
            assert (run.status, run.answer, run.retries) == ("done", "A whole one.", 1)
            messages = (await scene.services.runs.conversation(session)).messages
            assert [message.text.head for message in messages if message.role == "assistant"] == ["A whole one."]

    run_bounded(main())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (call_reply("write", path="a.txt", content="one\n"), call_reply("write", path="a.txt", content="two\n")),
        (call_reply("run", command="true\necho one"), call_reply("run", command="true\necho two")),
    ],
    ids=["the text of a file", "the second line of a command"],
)
def test_V11_calls_that_look_alike_but_did_something_else_are_a_difference(
    tmp_path: Path, first: dict[str, object], second: dict[str, object]
) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            same, again, other = [
                await scene.run(scripted_replies(reply, {"text": "Done"})) for reply in (first, first, second)
            ]
            assert scene.engine.analytics.compare(same, again).first_difference is None
            found = scene.engine.analytics.compare(same, other)
            assert found.first_difference == 1 and found.pairs[1].differs_in_arguments and found.equal == 2

    run_bounded(main())


def test_an_edited_call_is_compared_as_the_user_changed_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(call_reply("write", path="a.txt", content="one\n"), {"text": "Done"})
            sessions = []
            for text in ("", '{"content": "mine\\n", "path": "a.txt"}'):
                sessions.append(await scene.start(script, mode="ask"))
                ((_, pending),) = await scene.when(scene.engine.permission_requests)
                if text:
                    await scene.engine.allow_changed(pending.request.id, text)
                else:
                    await scene.engine.allow(pending.request.id)
                await scene.engine.wait_idle(sessions[-1])
            found = scene.engine.analytics.compare(sessions[0], sessions[1])
            assert [pair.differs_in_arguments for pair in found.pairs].count(True) == 1

    run_bounded(main())


def test_a_report_of_an_unknown_run_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "ok"}))
            with pytest.raises(Problem, match="There is no run 2"):
                await scene.engine.analytics.report(session, 2)

    asyncio.run(main())


def test_text_that_utf_8_cannot_represent_is_kept_visibly(tmp_path: Path) -> None:
    """Surrogate pairs are joined, a lone surrogate is shown as an escape, and none is written to a file."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            pair = call_reply("write", path="a.txt", content="\ud83d\ude00")
            half = call_reply("write", path="b.txt", content="\ud83d")
            session = await scene.run(scripted_replies({"text": "\ud83d\ude00 \udcff", **pair}, half, {"text": "Done"}))
            assert (scene.folder / "a.txt").read_text("utf-8") == "😀"
            refused = [event for event in await scene.events(session) if isinstance(event, CallRefused)]
            assert not (scene.folder / "b.txt").exists() and len(refused) == 1
            first = next(event for event in await scene.events(session) if isinstance(event, Replied))
            assert first.text.head == "😀 \\udcff"

    run_bounded(main())
