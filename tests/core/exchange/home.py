"""Homes that tests of exchange write to and read from."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from core.domain.events import Entry, RunEvent
from core.exchange.desk import Desk
from core.store.codec import whole
from core.store.database import Database
from core.store.journal import Journal
from core.store.oblivion import erase
from core.store.reader import Reader
from ui import web


class Home:
    """A data file with a desk."""

    def __init__(self, path: Path, secrets: Sequence[str] = ()) -> None:
        self.database = Database(path, synchronous="OFF")
        self.reader = Reader(path)
        self.journal = Journal(self.database, self.reader)

        async def known() -> Sequence[str]:
            return secrets

        async def forget(sessions: Sequence[str]) -> int:
            return await erase(self.database, sessions, self.journal.forget)

        self.desk = Desk(self.journal, self.reader, lambda: Reader(path), known, forget, web.html)

    def close(self) -> None:
        self.reader.close()
        self.database.close()

    async def entries(self, session: str) -> list[Entry]:
        return [entry async for entry in self.journal.read(session)]

    async def events(self, session: str) -> list[RunEvent]:
        """Every fact, its texts in full."""
        return [whole(entry.event, self.reader.kept) for entry in await self.entries(session)]

    async def told(self, session: str, form: str, *, keep_secrets: bool = False) -> str:
        """An export in one piece."""
        found: list[str] = []
        await self.desk.pieces(session, form, found.append, keep_secrets=keep_secrets)
        return "".join(found)


@asynccontextmanager
async def home(path: Path, secrets: Sequence[str] = ()) -> AsyncIterator[Home]:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = Home(path, secrets)
    try:
        yield made
    finally:
        made.close()
