"""Temporary data files with an exchange service, for the tests of core.exchange."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from core.domain.events import EventRecord, SessionEvent
from core.exchange.exchange_service import ExchangeService
from core.store.codec import load_texts
from core.store.database import Database
from core.store.journal import Journal
from core.store.purge import purge_sessions
from core.store.reader import Reader
from ui.text import html


class Home:
    """A data file with its journal, reader and exchange service."""

    def __init__(self, path: Path, secrets: Sequence[str] = ()) -> None:
        self.database = Database(path, synchronous="OFF")
        self.reader = Reader(path)
        self.journal = Journal(self.database, self.reader)

        async def known() -> Sequence[str]:
            return secrets

        async def forget(sessions: Sequence[str]) -> int:
            return await purge_sessions(self.database, sessions, self.journal.prepare_purge)

        self.exchange = ExchangeService(
            self.journal, self.reader, self.reader.reopen, known, forget, html.markdown_to_html
        )

    def close(self) -> None:
        self.reader.close()
        self.database.close()

    async def entries(self, session: str) -> list[EventRecord]:
        return [entry async for entry in self.journal.read(session)]

    async def events(self, session: str) -> list[SessionEvent]:
        """Return the events of a session with their full texts."""
        return [load_texts(entry.event, self.reader.find_blob) for entry in await self.entries(session)]

    async def export_text(self, session: str, form: str, *, keep_secrets: bool = False) -> str:
        """Return an export as one string."""
        found: list[str] = []
        await self.exchange.stream_export(session, form, found.append, keep_secrets=keep_secrets)
        return "".join(found)


@asynccontextmanager
async def home(path: Path, secrets: Sequence[str] = ()) -> AsyncIterator[Home]:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = Home(path, secrets)
    try:
        yield made
    finally:
        made.close()
