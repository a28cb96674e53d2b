"""An import that is cut, by a person or by a kill, goes on where it was: nothing is lost, nothing comes twice."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from core.domain.events import CallStarted, PersonSpoke, Replied, RunEvent, ToolReturned
from core.domain.exchanged import RecordKept
from core.domain.problems import Problem
from core.exchange import reading
from core.store.bulk import Bulk
from tests.bench.transcript import transcript
from tests.core.exchange.home import Home, home

HERE = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return transcript(tmp_path_factory.mktemp("long"), 5_000_000)


async def told(made: Home, session: str) -> list[object]:
    """What was said and done. A cut divides a run into two, so its rounds and calls are counted anew."""
    return [said for event in await made.events(session) if (said := _said(event))]


def _said(event: RunEvent) -> object:
    match event:
        case PersonSpoke() | RecordKept():
            return event
        case Replied(calls=calls):
            return event.text, event.usage, [(call.tool, call.arguments) for call in calls]
        case CallStarted(tool=tool, step=kind, object=what):
            return tool, kind, what
        case ToolReturned(output=output, failed=failed):
            return output, failed
        case _:
            return None


async def at_once(path: Path, file: Path) -> list[object]:
    async with home(path) as made:
        return await told(made, (await made.desk.bring(file)).session)


@pytest.mark.parametrize("lines", [1, 4])
def test_a_kill_in_the_middle(lines: int, long: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.core.exchange.importing", str(tmp_path / "a.db"), str(long)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=HERE) as process:
        assert process.stdout
        for _ in range(lines):
            assert process.stdout.readline()
        process.kill()

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            (row,) = made.reader.sessions()
            assert row.status == "running" and made.reader.unsearched()
            before = await made.entries(row.id)
            brought = await made.desk.bring(long)
            assert brought.session == row.id and brought.added
            assert (await made.entries(row.id))[: len(before)] == before
            assert await told(made, row.id) == await at_once(tmp_path / "b.db", long)
            await made.desk.make_findable()
            assert not made.reader.unsearched()
            shown = [step.object for step in made.reader.steps(row.id, 0, 10_000) if " records of " in step.object]
            kept = sum(event.count for event in await made.events(row.id) if isinstance(event, RecordKept))
            assert len(shown) == 1 and shown[0].endswith(f"progress {kept:,}")  # once, and all of them

    asyncio.run(main())


@pytest.mark.parametrize("again_s", [(), (0.0, 0.01, 0.02)], ids=["once", "again and again"])
def test_a_cancel_in_the_middle(again_s: tuple[float, ...], long: Path, tmp_path: Path) -> None:
    """A person cuts it; then the window is closed, and says so once more."""

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            begun: list[str] = []

            def begin(session: str) -> None:
                begun.append(session)
                task.cancel()
                for wait_s in again_s:
                    asyncio.get_running_loop().call_later(wait_s, task.cancel)

            task = asyncio.create_task(made.desk.bring(long, begun=begin))
            await asyncio.wait({task})
            assert task.cancelled() and len(begun) == 1
            row = made.reader.session(begun[0])
            assert row and row.status == "stopped"  # nothing more is read by now
            assert (await made.desk.bring(long)).session == begun[0]
            assert await told(made, begun[0]) == await at_once(tmp_path / "b.db", long)

    asyncio.run(main())


def test_a_disk_that_is_full_for_the_last_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few words more would fit, but they would say that all of it was read."""
    file, sizes = transcript(tmp_path, 1_500_000), list[int]()

    def hear(done: int, size: int) -> None:
        sizes.append(done)

    async def main() -> None:
        async with home(tmp_path / "b.db") as made:
            whole = await told(made, (await made.desk.bring(file, hear)).session)
        async with home(tmp_path / "a.db") as made:
            monkeypatch.setattr(made.database, "relieve", lambda: False)
            pour, poured = made.journal.pour, 0

            async def into_little(session: str, many: Bulk) -> None:
                nonlocal poured
                poured += 1
                if poured == len(sizes):
                    await made.database.do(lambda db: _limit(db, 12))
                await pour(session, many)

            monkeypatch.setattr(made.journal, "pour", into_little)
            with pytest.raises(Problem, match="The disk is full"):
                await made.desk.bring(file)
            await made.database.do(lambda db: _limit(db, 1_000_000))
            assert await told(made, (await made.desk.bring(file)).session) == whole

    asyncio.run(main())


def _limit(db: sqlite3.Connection, pages: int) -> None:
    """So many pages more fit."""
    (used,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {used + pages}")


def test_what_cannot_be_indexed_now_is_told_and_ends_nothing(tmp_path: Path) -> None:
    file, heard = transcript(tmp_path, 300_000), asyncio.Queue[BaseException]()

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            await made.desk.bring(file)
            (tmp_path / "a.db").rename(tmp_path / "away.db")
            task = asyncio.create_task(made.desk.keep_findable(heard.put_nowait))
            assert "was removed" in str(await heard.get()) and not task.done()
            (tmp_path / "away.db").rename(tmp_path / "a.db")
            await made.desk.make_findable()
            assert not made.reader.unsearched() and not task.done()
            task.cancel()
            await asyncio.wait({task})

    asyncio.run(main())


def test_it_can_be_looked_at_while_it_is_read(long: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            seen: list[tuple[int, int]] = []

            def begin(session: str) -> None:
                row = made.reader.session(session)
                assert row and len(made.reader.steps(session, 0, 20)) == 20
                seen.append((row.seq, row.rows))

            await made.desk.bring(long, begun=begin)
            assert len(seen) > 3 and seen == sorted(set(seen)) and seen[0][0] <= reading.FACTS * reading.LATEST + 10

    asyncio.run(main())
