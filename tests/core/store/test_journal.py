"""The journal writes first, tells afterwards, and reads back what it wrote."""

import asyncio
from pathlib import Path

from core.domain.events import CallStarted, PersonSpoke, Replied, RunEnded, RunStarted, Text, ToolReturned
from core.store.database import Database
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.told import Told


def test_facts_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "journeyman.db"

    async def main() -> None:
        database = Database(path)
        reader = Reader(path)
        journal = Journal(database, reader)
        told: list[Told] = []
        journal.listen(told.append)
        name = await journal.open("/tmp", "Say hi")
        long = "x" * 10_000
        await journal.append(name, PersonSpoke(Text("hi")), RunStarted("scripted"))
        await journal.append(name, CallStarted("r1c1", "run", "command", "ls"))
        await journal.append(name, ToolReturned("r1c1", Text(long)))
        await journal.append(name, Replied(Text("broken \ud800 half")))
        await journal.append(name, RunEnded("completed"))
        entries = [entry async for entry in journal.read(name)]
        assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5, 6, 7]
        assert entries == [each.entry for each in told]
        assert [entry.run for entry in entries] == [0, 1, 1, 1, 1, 1, 1]
        assert reader.words(name, 5, "output") == long
        assert len(entries[4].event.output.head) < 5000  # type: ignore[union-attr]
        row = reader.session(name)
        assert row is not None and row == told[-1].session and row.status == "done"
        assert reader.find("half")[0].seq == 6
        assert [s.kind for s in reader.steps(name, 0, 100)] == ["person", "run", "command", "reply", "end"]
        database.close()
        reader.close()

    asyncio.run(main())
