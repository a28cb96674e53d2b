"""A data folder for pictures: sessions in every state, with times that count back from now."""

import asyncio
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from app import places, sample_memory, sample_skills
from app.sample_facts import Made, with_calls
from app.sample_sessions import BODIES, sessions
from core.domain.clock import SECOND, now
from core.domain.events import Delegated, DelegateEnded, SessionOpened
from core.domain.ids import session_id
from core.store.database import Database
from core.store.journal import Journal
from core.store.reader import Reader

HELPS: Final = (Delegated, DelegateEnded)


def make(home: Path) -> None:
    """Write every session, the oldest first."""
    home.mkdir(parents=True, mode=0o700)
    with closing(Database(places.database(home))) as database, closing(Reader(database.path)) as reader:
        clock = _Clock()
        journal = Journal(database, reader, clock)
        with asyncio.Runner() as runner:
            for made in sorted(sessions(), key=lambda made: -made.ago):
                runner.run(_write(journal, clock, made))
            runner.run(sample_skills.make(home, database, journal, reader))
            runner.run(sample_memory.make(database, journal, reader))


class _Clock:
    def __init__(self) -> None:
        self.start, self.time = now(), 0

    def __call__(self) -> int:
        return self.time


async def _write(journal: Journal, clock: _Clock, made: Made) -> None:
    lasts = sum(at.after for at in (*made.facts, *made.helper))
    clock.time = clock.start - int((made.ago + lasts) * SECOND)
    name = await journal.open(str(Path.home() / made.folder), made.title)
    child = session_id()
    for at in with_calls(list(made.facts)):
        clock.time += int(at.after * SECOND)
        events = [replace(event, child=child) if isinstance(event, HELPS) else event for event in at.events]
        await journal.append(name, *events, blobs=BODIES)
        for event in events:
            if isinstance(event, Delegated):
                await _help(journal, clock, made, name, event)


async def _help(journal: Journal, clock: _Clock, made: Made, parent: str, given: Delegated) -> None:
    """The session of a sub-agent, while the one that gave it work waits."""
    folder = str(Path.home() / made.folder)
    title = given.task.head
    opened = SessionOpened(given.child, folder, title, parent, given.call_id, given.called, depth=1)
    await journal.append(given.child, opened)
    for at in with_calls(list(made.helper)):
        clock.time += int(at.after * SECOND)
        await journal.append(given.child, *at.events)
