"""An import that is canceled or killed continues where it was interrupted: nothing is lost or imported twice."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.domain.events import CallStarted, Replied, SessionEvent, ToolReturned, UserMessage
from core.domain.import_events import UnrecognizedRecordsKept
from core.domain.problems import Problem
from core.exchange import transcript_reader
from core.exchange.session_importer import SessionImporter
from core.store.event_batch import EventBatch
from tests.bench.transcript import write_transcript
from tests.core.exchange.home import Home, home

HERE = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_transcript(tmp_path_factory.mktemp("long"), 5_000_000)


async def told(made: Home, session: str) -> list[object]:
    """Return messages and calls without their ids, which differ because an interruption splits a run."""
    return [said for event in await made.events(session) if (said := _said(event))]


def _said(event: SessionEvent) -> object:
    match event:
        case UserMessage() | UnrecognizedRecordsKept():
            return event
        case Replied(calls=calls):
            return event.text, event.usage, [(call.tool, call.arguments) for call in calls]
        case CallStarted(tool=tool, step_kind=kind, object=what):
            return tool, kind, what
        case ToolReturned(output=output, failed=failed):
            return output, failed
        case _:
            return None


async def at_once(path: Path, file: Path) -> list[object]:
    async with home(path) as made:
        return await told(made, (await made.exchange.import_file(file)).session)


@pytest.mark.parametrize("lines", [1, 4])
def test_a_killed_import_is_resumed(lines: int, long: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.core.exchange.import_process", str(tmp_path / "a.db"), str(long)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=HERE) as process:
        assert process.stdout
        for _ in range(lines):
            assert process.stdout.readline()
        process.kill()

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            (row,) = made.reader.sessions()
            assert row.status == "running" and made.reader.search_backlog()
            before = await made.entries(row.id)
            brought = await made.exchange.import_file(long)
            assert brought.session == row.id and brought.added_events
            assert (await made.entries(row.id))[: len(before)] == before
            assert await told(made, row.id) == await at_once(tmp_path / "b.db", long)
            await made.exchange.index_backlog()
            assert not made.reader.search_backlog()
            shown = [step.object for step in made.reader.steps(row.id, 0, 10_000) if " records from " in step.object]
            kept = sum(event.count for event in await made.events(row.id) if isinstance(event, UnrecognizedRecordsKept))
            assert len(shown) == 1 and shown[0].endswith(f"progress {kept:,}")  # one row with the total

    asyncio.run(main())


@pytest.mark.parametrize("again_s", [(), (0.0, 0.01, 0.02)], ids=["once", "again and again"])
def test_a_canceled_import_is_resumed(again_s: tuple[float, ...], long: Path, tmp_path: Path) -> None:
    """The user cancels the import, then closing the window cancels it again."""

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            begun: list[str] = []

            def begin(session: str) -> None:
                begun.append(session)
                task.cancel()
                for wait_s in again_s:
                    asyncio.get_running_loop().call_later(wait_s, task.cancel)

            task = asyncio.create_task(made.exchange.import_file(long, on_session=begin))
            await asyncio.wait({task})
            assert task.cancelled() and len(begun) == 1
            row = made.reader.session(begun[0])
            assert row and row.status == "stopped"  # the reading has ended
            assert (await made.exchange.import_file(long)).session == begun[0]
            assert await told(made, begun[0]) == await at_once(tmp_path / "b.db", long)

    asyncio.run(main())


def test_a_disk_that_fills_up_near_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small event would still fit, but writing it would falsely record that the whole file was read."""
    file, sizes = write_transcript(tmp_path, 1_500_000), list[int]()

    def hear(done: int, size: int) -> None:
        sizes.append(done)

    async def main() -> None:
        async with home(tmp_path / "b.db") as made:
            whole = await told(made, (await made.exchange.import_file(file, hear)).session)
        async with home(tmp_path / "a.db") as made:
            monkeypatch.setattr(made.database, "on_disk_full", lambda: False)
            pour, poured = made.journal.append_batch, 0

            async def into_little(session: str, many: EventBatch) -> None:
                nonlocal poured
                poured += 1
                if poured == len(sizes):
                    await made.database.run(lambda db: _limit(db, 12))
                await pour(session, many)

            monkeypatch.setattr(made.journal, "append_batch", into_little)
            with pytest.raises(Problem, match="The disk is full"):
                await made.exchange.import_file(file)
            await made.database.run(lambda db: _limit(db, 1_000_000))
            assert await told(made, (await made.exchange.import_file(file)).session) == whole

    asyncio.run(main())


def _limit(db: sqlite3.Connection, pages: int) -> None:
    """Limit the database to this many further pages."""
    (used,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {used + pages}")


def test_a_failed_indexing_is_reported_and_ends_nothing(tmp_path: Path) -> None:
    file, heard = write_transcript(tmp_path, 300_000), asyncio.Queue[BaseException]()

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            await made.exchange.import_file(file)
            (tmp_path / "a.db").rename(tmp_path / "away.db")
            task = asyncio.create_task(made.exchange.keep_indexing(heard.put_nowait))
            assert "was removed" in str(await heard.get()) and not task.done()
            (tmp_path / "away.db").rename(tmp_path / "a.db")
            await made.exchange.index_backlog()
            assert not made.reader.search_backlog() and not task.done()
            task.cancel()
            await asyncio.wait({task})

    asyncio.run(main())


def test_a_session_can_be_viewed_while_it_is_imported(long: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            seen: list[tuple[int, int]] = []

            def begin(session: str) -> None:
                row = made.reader.session(session)
                assert row and len(made.reader.steps(session, 0, 20)) == 20
                seen.append((row.last_seq, row.rows))

            await made.exchange.import_file(long, on_session=begin)
            assert (
                len(seen) > 3
                and seen == sorted(set(seen))
                and seen[0][0] <= transcript_reader.BATCH_EVENTS * transcript_reader.FORCED_SPLIT + 10
            )

    asyncio.run(main())


def test_a_file_is_imported_only_after_exclusive_work_has_ended(long: Path, tmp_path: Path) -> None:
    started: list[Path] = []

    async def keep(sessions: Sequence[str]) -> None:
        raise AssertionError(f"{sessions} were written whole")

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            importer = SessionImporter(made.journal, made.reader, made.reader.reopen, keep, started.append)
            async with importer.exclusive():
                task = asyncio.create_task(importer.import_file(long, lambda done, size: None, lambda session: None))
                await asyncio.sleep(0)  # the task runs until it waits
                assert not started
            assert (await task).added_events > 0
            assert started == [long]

    asyncio.run(main())
