"""The journal commits before it notifies, and reads back what it wrote, whatever happens at the same time."""

import asyncio
import sqlite3
import threading
import tracemalloc
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallStarted, Replied, RunEnded, RunStarted, SessionCreated, ToolReturned, UserMessage
from core.domain.problems import Problem
from core.domain.question import Answer, Question, QuestionAnswered, QuestionAsked
from core.domain.text import Text
from core.store.database import Database
from core.store.derived_rows import MAX_CACHED_SESSIONS
from core.store.journal import Journal
from core.store.journal_update import JournalUpdate
from core.store.reader import Reader
from tests.core.store.made import journal_at
from tests.sessions import create_session

Work = Callable[[Journal, Reader, Database], Coroutine[Any, Any, None]]


def play(path: Path, work: Work, clock: Callable[[], int] | None = None) -> None:
    """Run `work` with a journal on a real file."""
    with journal_at(path) as (journal, reader, database):
        asyncio.run(work(Journal(database, reader, clock) if clock else journal, reader, database))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journeyman.db"


def user_message(text: str) -> UserMessage:
    return UserMessage(Text(text))


def test_events_are_read_back_unchanged(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, _: Database) -> None:
        told: list[JournalUpdate] = []
        journal.listen(told.append)
        name = await create_session(journal, "/tmp", "Say hi")
        long = "x" * 10_000
        await journal.append(name, user_message("hi"), RunStarted("scripted"))
        await journal.append(name, CallStarted("r1c1", "run", "command", "ls"))
        await journal.append(name, ToolReturned("r1c1", Text(long)))
        await journal.append(name, Replied(Text("broken \ud800 half")))
        await journal.append(name, RunEnded("completed"))
        entries = [entry async for entry in journal.read(name)]
        assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5, 6, 7]
        assert entries == [each.entry for each in told]
        assert [entry.run for entry in entries] == [0, 1, 1, 1, 1, 1, 1]
        assert reader.full_text(name, 5, "output") == long
        returned = entries[4].event
        assert isinstance(returned, ToolReturned) and len(returned.output.head) < 5000
        row = reader.session(name)
        assert row is not None and row == told[-1].session and row.status == "done"
        assert reader.search("half")[0].seq == 6
        assert [s.kind for s in reader.steps(name, 0, 100)] == ["user", "run", "command", "reply", "end"]

    play(path, work)


def commits(path: Path) -> int:
    """Count the transactions in the WAL: frames that state the file size after the commit."""
    log = path.with_name(path.name + "-wal").read_bytes()
    page = int.from_bytes(log[8:12])
    frames = range(32, len(log), 24 + page)
    return sum(log[at + 4 : at + 8] != bytes(4) for at in frames if log[at + 8 : at + 16] == log[16:24])


class Gate:
    """Blocks the writing thread until `open` is called, so that jobs queue up behind it."""

    def __init__(self, database: Database) -> None:
        self._open = threading.Event()
        self._waits = threading.Event()
        self._held = asyncio.ensure_future(database.run(self._wait, no_transaction=True))

    def _wait(self, db: sqlite3.Connection) -> None:
        self._waits.set()
        self._open.wait(10)

    async def held(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._waits.wait, 10)

    async def open(self) -> None:
        self._open.set()
        await self._held


def test_events_queued_together_share_a_commit_and_keep_their_order(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        told: list[JournalUpdate] = []
        journal.listen(told.append)
        gate = Gate(database)
        await gate.held()
        before = commits(path)
        waiting = [asyncio.ensure_future(journal.append(name, user_message(str(n)))) for n in range(100)]
        await asyncio.sleep(0)
        await gate.open()
        entries = await asyncio.gather(*waiting)
        assert commits(path) == before + 1
        assert [entry.seq for entry in entries] == list(range(2, 102))
        assert [each.entry for each in told] == entries

    play(path, work)


def test_events_of_one_loop_iteration_share_a_commit(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, _: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        before = commits(path)
        first = journal.start_append(name, user_message("first"))
        threading.Event().wait(0.05)  # There is enough time for the writing thread to take the job, but it must not.
        second = journal.start_append(name, user_message("second"))
        assert [(await each).seq for each in (first, second)] == [2, 3]
        assert commits(path) == before + 1

    play(path, work)


def test_jobs_queued_just_before_close_are_written(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        journal.append_in_background(name, user_message("farewell"))
        database.close()
        assert [line[0] for line in reader.raw_events(name)] == [1, 2]

    play(path, work)


def test_a_failing_job_affects_no_other(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        gate = Gate(database)
        await gate.held()
        jobs: list[Coroutine[Any, Any, Any]] = [
            journal.append(name, user_message("before")),
            journal.append("nobody", user_message("lost")),
            database.run(lambda db: 1 // 0),
            database.run(lambda db: db.execute("INSERT INTO event VALUES (1 << 32 | 1, 1, 1, 'x', 'x')")),
            journal.append(name, user_message("after")),
        ]
        waiting = [asyncio.ensure_future(job) for job in jobs]
        await asyncio.sleep(0)
        await gate.open()
        ends: list[Any] = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(end).__name__ for end in ends] == [
            "EventRecord", "Problem", "ZeroDivisionError", "IntegrityError", "EventRecord",
        ]  # fmt: skip
        assert [ends[0].seq, ends[4].seq] == [2, 3]
        assert [line[0] for line in reader.raw_events(name)] == [1, 2, 3]

    play(path, work)


def test_events_appended_together_are_all_stored_or_none(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, _: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        with pytest.raises(OverflowError):
            await journal.append(name, user_message("one"), RunStarted("m", max_turns=2**70))
        assert (await journal.append(name, user_message("two"))).seq == 2
        assert [hit.seq for hit in reader.search("one")] == []

    play(path, work)


def test_a_canceled_wait_still_notifies_the_listeners(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        told: list[JournalUpdate] = []
        journal.listen(told.append)
        gate = Gate(database)
        await gate.held()
        waiting = asyncio.ensure_future(journal.append(name, user_message("stop me")))
        await asyncio.sleep(0)
        waiting.cancel()
        await gate.open()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await journal.append(name, user_message("next"))
        assert [each.entry.seq for each in told] == [2, 3]

    play(path, work)


def test_a_failing_listener_does_not_affect_others(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, _: Database) -> None:
        reports: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context))
        told: list[JournalUpdate] = []
        forget = journal.listen(lambda each: 1 // 0)  # type: ignore[arg-type]
        journal.listen(told.append)
        name = await create_session(journal, "/tmp", "t")
        forget()
        await journal.append(name, user_message("hi"))
        assert len(told) == 2 and [type(report["exception"]) for report in reports] == [ZeroDivisionError]

    play(path, work)


def test_concurrent_appends_of_many_sessions_leave_no_gap(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        names = [await create_session(journal, "/tmp", str(n)) for n in range(4)]
        await asyncio.gather(*(journal.append(names[n % 4], user_message(str(n))) for n in range(100)))
        for name in names:
            assert [line[0] for line in reader.raw_events(name)] == list(range(1, 27))

    play(path, work)


def test_a_clock_that_goes_backwards_does_not_affect_the_event_log(path: Path) -> None:
    times = iter([100, 50, 70, 2_592_000_000_000, 120])

    async def work(journal: Journal, reader: Reader, _: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        for text in "abcd":
            await journal.append(name, user_message(text))
        assert [line[2] for line in reader.raw_events(name)] == [100, 100, 100, 2_592_000_000_000, 2_592_000_000_000]

    play(path, work, lambda: next(times))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("half \ud800 of", "half \\ud800 of"),
        ("nul \0 here", "nul \0 here"),
        ("\ud83d\ude00 as two halves", "😀 as two halves"),
        ("\udcff from a file name " * 1000, "\\udcff from a file name " * 1000),
        ("日本語 🙂 " * 20_000, "日本語 🙂 " * 20_000),
        ("", ""),
        ("\u202e\x1b[31m\r\n", "\u202e\x1b[31m\r\n"),
    ],
    ids=["half", "nul", "halves", "long half", "long", "empty", "controls"],
)
def test_any_text_is_stored(path: Path, text: str, kept: str) -> None:
    async def work(journal: Journal, reader: Reader, _: Database) -> None:
        told: list[JournalUpdate] = []
        journal.listen(told.append)
        name = await create_session(journal, "/tmp\ud800", "t")
        await journal.append(name, user_message(text))
        assert reader.full_text(name, 2) == kept
        assert [reader.full_text(name, 2, limit=most) for most in (0, 1, 9_999)] == [kept[:0], kept[:1], kept[:9_999]]
        assert [entry async for entry in journal.read(name)] == [each.entry for each in told]

    play(path, work)


def test_the_start_of_a_very_long_text_is_read_without_the_rest(path: Path) -> None:
    """A window that shows one page of a reply must not block until the whole reply is read."""

    async def work(journal: Journal, reader: Reader, _: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        await journal.append(name, user_message("x" * (16 << 20)))
        tracemalloc.start()
        try:
            assert reader.full_text(name, 2, limit=20_000) == "x" * 20_000
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()

    play(path, work)


def test_many_sessions_are_written_and_few_are_cached(path: Path) -> None:
    """The write state of a session that left the cache is reloaded from its rows."""

    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        names = [await create_session(journal, "/tmp", f"t{number}") for number in range(MAX_CACHED_SESSIONS + 6)]
        for turn in range(2):
            for name in names:
                await journal.append(name, RunStarted("scripted"), user_message(f"words {turn}"))
                await journal.append(name, CallStarted("c", "run", "command", "sleep"))
            for name in names:
                await journal.append(name, ToolReturned("c", Text("done")), RunEnded("completed"))
        assert len(database.derived._states) <= MAX_CACHED_SESSIONS
        for name in names:
            rows = reader.steps(name, 0, 99)
            assert [row.run for row in rows if row.kind == "run"] == [1, 2]
            assert [row.status for row in rows if row.kind == "command"] == ["done"] * 2

    play(path, work)


def test_contents_are_stored_once(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        for _ in range(3):
            await journal.append(name, user_message("the same " * 1000), blobs={"a" * 64: b"bytes"})
        found = await database.run(lambda db: db.execute("SELECT size FROM blob ORDER BY size").fetchall())
        assert found == [(5,), (9000,)] and reader.blob("a" * 64) == b"bytes"

    play(path, work)


def test_readers_meet_no_lock_while_a_thousand_events_are_written(path: Path) -> None:
    ended = threading.Event()
    pages: list[int] = []
    errors: list[BaseException] = []

    def read(name: str) -> None:
        reader = Reader(path)
        try:
            while not ended.is_set():
                pages.append(len(list(reader.raw_events(name))) + len(reader.sessions()) + len(reader.search("word")))
        except sqlite3.Error as error:
            errors.append(error)
        finally:
            reader.close()

    async def work(journal: Journal, reader: Reader, _: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        threads = [threading.Thread(target=read, args=(name,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for part in range(20):
                await asyncio.gather(*(journal.append(name, user_message(f"word {part} {n}")) for n in range(50)))
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        assert len(pages) > 2
        assert [line[0] for line in reader.raw_events(name)] == list(range(1, 1002))

    play(path, work)
    assert not errors


def test_the_event_log_is_append_only(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        await create_session(journal, "/tmp", "t")
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            await database.run(lambda db: db.execute("UPDATE event SET payload = ''"))

    play(path, work)


def test_open_questions_are_listed_until_they_are_answered(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, _: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        asked = [QuestionAsked(Question(f"q{n}", "Which?"), f"c{n}") for n in range(3)]
        await journal.append(name, RunStarted("m"), *asked)
        await journal.append(name, QuestionAnswered("q1", "c1", Answer(text="this")))
        assert [asked.question.id for asked in reader.questions()] == ["q0", "q2"]
        await journal.append(name, RunEnded("stopped"))
        assert reader.questions() == []

    play(path, work)


def test_a_session_needs_its_first_event(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, _: Database) -> None:
        with pytest.raises(Problem, match="There is no session abcd"):
            await journal.append("abcd", user_message("hi"))
        assert (await journal.append("abcd", SessionCreated("abcd", "/tmp", "t"))).seq == 1

    play(path, work)


def test_nothing_waits_forever_after_close(path: Path) -> None:
    database = Database(path)
    database.close()
    database.close()

    async def late() -> None:
        with pytest.raises(Problem, match="data file is closed"):
            await database.run(lambda db: None)

    asyncio.run(late())


def test_an_event_loop_that_ended_does_not_stop_the_writer(path: Path) -> None:
    database = Database(path)
    reader = Reader(path)
    journal = Journal(database, reader)
    begun, go_on = threading.Event(), threading.Event()

    def slow(db: sqlite3.Connection) -> None:
        begun.set()
        go_on.wait(10)

    async def leave() -> None:
        waiting = asyncio.ensure_future(database.run(slow))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, 10)
        waiting.cancel()

    asyncio.run(leave())
    go_on.set()
    assert len(asyncio.run(create_session(journal, "/tmp", "t"))) == 8
    reader.close()
    database.close()


def test_a_removed_file_is_not_written_to(path: Path) -> None:
    with journal_at(path) as (journal, _, _):
        name = asyncio.run(create_session(journal, "/tmp", "t"))
        path.rename(path.with_name("away"))
        with pytest.raises(Problem, match="removed while Journeyman was open"):
            asyncio.run(journal.append(name, user_message("where to?")))
        assert not path.exists()
        path.with_name("away").rename(path)
        assert asyncio.run(journal.append(name, user_message("back"))).seq == 2
