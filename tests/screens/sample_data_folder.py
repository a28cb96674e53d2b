"""A data folder for the screenshots: sessions in every state, with times relative to now."""

import asyncio
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.process import data_folder
from core.domain.clock import SECOND, now
from core.domain.events import SessionCreated, SubagentEnded, SubagentStarted
from core.domain.ids import session_id
from core.store.database import Database
from core.store.journal import Journal
from core.store.reader import Reader
from tests.screens import sample_memory, sample_skills
from tests.screens.sample_events import SampleSession, with_calls
from tests.screens.sample_sessions import BODIES, sessions
from tests.sessions import create_session

HELPS: Final = (SubagentStarted, SubagentEnded)


def make(home: Path) -> None:
    """Write every session, the oldest first."""
    home.mkdir(parents=True, mode=0o700)
    with closing(Database(data_folder.database_path(home))) as database, closing(Reader(database.path)) as reader:
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


async def _write(journal: Journal, clock: _Clock, made: SampleSession) -> None:
    lasts = sum(at.after for at in (*made.facts, *made.helper))
    clock.time = clock.start - int((made.ago + lasts) * SECOND)
    name = await create_session(journal, str(Path.home() / made.folder), made.title)
    child = session_id()
    for at in with_calls(list(made.facts)):
        clock.time += int(at.after * SECOND)
        events = [replace(event, child_session=child) if isinstance(event, HELPS) else event for event in at.events]
        await journal.append(name, *events, blobs=BODIES)
        for event in events:
            if isinstance(event, SubagentStarted):
                await _help(journal, clock, made, name, event)


async def _help(journal: Journal, clock: _Clock, made: SampleSession, parent: str, given: SubagentStarted) -> None:
    """Write the session of a sub-agent while the parent session waits."""
    folder = str(Path.home() / made.folder)
    title = given.task.head
    opened = SessionCreated(given.child_session, folder, title, parent, given.call_id, given.subagent, depth=1)
    await journal.append(given.child_session, opened)
    for at in with_calls(list(made.helper)):
        clock.time += int(at.after * SECOND)
        await journal.append(given.child_session, *at.events)
