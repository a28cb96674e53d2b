"""A data folder for the screenshots: sessions in every state, with times relative to now."""

import asyncio
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from app.process import data_folder
from core.domain.clock import SECOND, now
from core.domain.events import SessionCreated, SessionEvent, SubagentEnded, SubagentStarted
from core.domain.ids import session_id
from core.store.database import Database
from core.store.journal import Journal
from core.store.reader import Reader
from tests.screens import sample_memory, sample_skills
from tests.screens.sample_events import SampleSession, with_calls
from tests.screens.sample_sessions import BLOBS, sessions
from tests.sessions import create_session


def make(home: Path) -> None:
    """Write every session, the oldest first."""
    home.mkdir(parents=True, mode=0o700)
    with closing(Database(data_folder.database_path(home))) as database, closing(Reader(database.path)) as reader:
        clock = _Clock()
        journal = Journal(database, reader, clock)
        with asyncio.Runner() as runner:
            for sample in sorted(sessions(), key=lambda sample: -sample.seconds_ago):
                runner.run(_write(journal, clock, sample))
            runner.run(sample_skills.make(home, database, journal, reader))
            runner.run(sample_memory.make(database, journal, reader))


class _Clock:
    """A clock that is set by hand; `start` is the real time at which it was created."""

    def __init__(self) -> None:
        self.start = now()
        self.time = 0

    def __call__(self) -> int:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += int(seconds * SECOND)


async def _write(journal: Journal, clock: _Clock, sample: SampleSession) -> None:
    duration = sum(entry.delay for entry in (*sample.timeline, *sample.subagent))
    clock.time = clock.start - int((sample.seconds_ago + duration) * SECOND)
    session = await create_session(journal, str(Path.home() / sample.folder), sample.title)
    child = session_id()
    for entry in with_calls(sample.timeline):
        clock.advance(entry.delay)
        events = [_with_child_session(event, child) for event in entry.events]
        await journal.append(session, *events, blobs=BLOBS)
        for event in events:
            if isinstance(event, SubagentStarted):
                await _write_subagent(journal, clock, sample, session, event)


def _with_child_session(event: SessionEvent, child: str) -> SessionEvent:
    """Return an event with the session of the sub-agent, whose ID the sample events leave open."""
    return replace(event, child_session=child) if isinstance(event, SubagentStarted | SubagentEnded) else event


async def _write_subagent(
    journal: Journal, clock: _Clock, sample: SampleSession, parent: str, started: SubagentStarted
) -> None:
    """Write the session of a sub-agent while the parent session waits."""
    created = SessionCreated(
        started.child_session,
        folder=str(Path.home() / sample.folder),
        title=started.task.head,
        parent=parent,
        parent_call=started.call_id,
        subagent=started.subagent,
        depth=1,
    )
    await journal.append(started.child_session, created)
    for entry in with_calls(sample.subagent):
        clock.advance(entry.delay)
        await journal.append(started.child_session, *entry.events)
