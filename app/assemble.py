"""Build every service once, bottom up; close them in reverse."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app import places
from core.engine.drafts import Drafts
from core.engine.engine import Engine
from core.engine.runs import Runs
from core.store.database import Database
from core.store.journal import Journal
from core.store.reader import Reader


@dataclass(frozen=True, slots=True)
class Services:
    """What runs on the engine's loop."""

    engine: Engine
    runs: Runs
    database: Database
    reader: Reader

    async def close(self) -> None:
        """End what goes, then let go of the file: the writing connection last, it checkpoints."""
        await self.runs.close()
        self.reader.close()
        self.database.close()


async def assemble(folder: Path, report: Callable[[BaseException], None]) -> Services:
    """On the engine's loop: SQLite connections stay in the thread that made them."""
    path = places.database(folder)
    database = Database(path)
    reader = Reader(path)
    journal = Journal(database, reader)
    drafts = Drafts()
    runs = Runs(journal, reader, drafts, report)
    await runs.recover()
    return Services(Engine(path, journal, reader, runs, drafts), runs, database, reader)
