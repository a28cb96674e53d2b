"""Disk waits in a turn: a read-only call continues while its start event is being written."""

import asyncio
import gc
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from core.domain.events import CallStarted, Replied, ToolReturned
from core.store.data_folder import DATABASE_FILE
from core.store.database import WriteJob
from core.store.journal_update import JournalUpdate
from tests.core.engine.harness import BOUND_S, call_reply, open_engine, run_bounded, scripted_replies

SCRIPT = scripted_replies(call_reply("read", path="a.txt"), {"text": "It says hello."})


def test_a_result_is_queued_before_its_start_is_written(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("hello\n")
            database, loop, go_on = scene.services.opened.database, asyncio.get_running_loop(), threading.Event()
            assert database is not None
            told_apart: list[bool] = []
            heard: list[type] = []

            def hear(told: JournalUpdate) -> None:
                event = told.entry.event
                heard.append(type(event))
                if isinstance(event, Replied) and event.calls:  # block the database from here on
                    database.submit(
                        WriteJob(lambda db: go_on.wait(BOUND_S), lambda *_: None, loop, no_transaction=True)
                    )
                if isinstance(event, CallStarted):
                    loop.call_soon(lambda: told_apart.append(heard[-1] is CallStarted))

            scene.engine.subscribe(hear)
            session = await scene.start(SCRIPT)
            await scene.until(Replied)
            for _ in range(100):
                await asyncio.sleep(0)
            assert heard[-1] is Replied, "an event was published before it was durable"
            go_on.set()
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done" and told_apart == [False]
            assert heard.index(ToolReturned) == heard.index(CallStarted) + 1

    run_bounded(test())


def test_the_result_of_a_read_and_the_next_request_share_a_commit(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("hello\n")
            loop = asyncio.get_running_loop()
            commits: list[list[str]] = []
            is_open: list[bool] = []

            def hear(told: JournalUpdate) -> None:
                if not is_open:
                    commits.append([])
                    is_open.append(True)
                    loop.call_soon(is_open.clear)  # The events of one commit are published in one callback.
                commits[-1].append(type(told.entry.event).__name__)

            scene.engine.subscribe(hear)
            write = call_reply("write", path="b.txt", content="x")
            session = await scene.start(scripted_replies(call_reply("read", path="a.txt"), write, {"text": "done"}))
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"
            assert ["CallAllowed", "CallStarted", "ToolReturned", "RequestSent"] in commits
            assert [commit[-1] for commit in commits if "FileChanged" in commit] == ["ToolReturned"], commits
            assert any(commit[-1] == "CallStarted" for commit in commits), "the write was not durable when it began"

    run_bounded(test())


def test_a_start_that_cannot_be_written_ends_its_run(tmp_path: Path) -> None:
    async def test() -> None:
        unheard: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context["message"]))
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("hello\n")
            with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as db:
                db.execute(
                    "CREATE TRIGGER no BEFORE INSERT ON event WHEN NEW.kind = 'call_started'"
                    " BEGIN SELECT RAISE(ABORT, 'not now'); END"
                )
            session = await scene.run(SCRIPT)
            assert scene.status(session) == "failed" and "not now" in str(scene.bugs)
            assert "CallStarted" not in await scene.kinds(session)
            with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as db:
                db.execute("DROP TRIGGER no")
            await scene.engine.send_message(session, "Once more.")
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"
            assert (await scene.kinds(session)).count("CallStarted") == 1
        gc.collect()
        assert unheard == []

    run_bounded(test())
