"""The command `replay`: replays a session from its event log, in this process and in a temporary folder."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from app.commands.run_follower import step_line
from app.process import data_folder
from app.process.data_folder_lock import DataFolderLock
from app.process.exit_codes import DONE, FAILED
from app.process.output import Output, event_json
from core.domain.clock import SECOND
from core.domain.events import CallRefused, CallStarted, EventRecord, Replied, RequestSent, UserMessage
from core.domain.problems import Problem
from core.domain.question import QuestionAsked
from core.domain.steps import OPEN_STATUSES
from core.engine.history.replay import BeforeEvent, ReplayResult
from core.engine.history.replay import replay_session as play
from core.store.data_folder import open_data_folder
from core.store.journal_update import JournalUpdate
from core.store.reader import Reader, ReadError

LONGEST_S = 5.0  # longest pause between two events with --speed; in the run, the user may have taken a day to answer
STEPS = (UserMessage, RequestSent, CallStarted, CallRefused, QuestionAsked)


def replay(home: Path, typed: argparse.Namespace, out: Output) -> int:
    reader = _reader(home, out)
    try:
        found = reader.sessions_starting_with(typed.session) if typed.session else []
        if len(found) != 1:
            why = f"{len(found)} sessions have such an ID." if found else ""
            raise Problem(f"There is no session {typed.session!r}.", why, "List them with `journeyman sessions`.")
        with tempfile.TemporaryDirectory(prefix="journeyman-replay-") as folder, asyncio.Runner() as runner:
            pace = _step(out) if typed.step else _pace(typed.speed)
            done = runner.run(play(reader, found[0].id, Path(folder), _Printer(typed.json, out, reader), pace))
    finally:
        reader.close()
    return _sum_up(done, typed, out)


def _reader(home: Path, out: Output) -> Reader:
    """Open the database for reading. If no process has it open, open it for writing first, to run migrations."""
    path = data_folder.database_path(home)
    if not path.exists():
        raise Problem("There are no sessions yet.", f"{path} does not exist.", "Start one with `journeyman run`.")
    lock, frozen = DataFolderLock(data_folder.lock_path(home)), False
    if lock.acquire():
        try:
            frozen = _opened_once(home, out)
        finally:
            lock.release()
    try:
        return Reader(path, immutable=frozen)
    except ReadError as error:
        raise Problem("The database cannot be read.", f"{error}.", "Run `journeyman doctor`.") from error


def _opened_once(home: Path, out: Output) -> bool:
    """Open and close the database, which runs migrations; return whether it is read-only and has no WAL to read."""
    opened = open_data_folder(home)
    for note in opened.warnings:
        out.print_error(note, "warning")
    if opened.database:
        opened.database.close()
    return opened.immutable


class _Printer:
    """Prints the events of a replay as `run` prints those of a run."""

    def __init__(self, json: bool, out: Output, reader: Reader) -> None:
        self._json = json
        self._out = out
        self._reader = reader

    def __call__(self, told: JournalUpdate) -> None:
        event = told.entry.event
        if self._json:
            self._out.write_json(event_json(told.entry, self._reader.blob))
            return
        if isinstance(event, UserMessage | Replied) and event.text.head:
            text = event.text
            words = self._reader.blob(text.blob).decode("utf-8", "replace") if text.blob else text.head
            self._out.write(f"You: {words}" if isinstance(event, UserMessage) else words)
        for step in told.steps:
            if step.number and step.status not in OPEN_STATUSES:
                self._out.write(step_line(step))


def _pace(speed: float) -> BeforeEvent:
    """Return a function that waits as long as the run took between two events, divided by `speed`; 0 means no wait."""
    before = 0

    async def wait(entry: EventRecord) -> None:
        nonlocal before
        if speed and before:
            await asyncio.sleep(min(LONGEST_S, (entry.at - before) / SECOND / speed))
        before = entry.at

    return wait


def _step(out: Output) -> BeforeEvent:
    """Return a function that waits for Enter before each step, until standard input ends."""
    listening = True

    async def wait(entry: EventRecord) -> None:
        nonlocal listening
        if listening and isinstance(entry.event, STEPS):
            out.write_error("Press Enter for the next step")
            listening = bool(await asyncio.to_thread(sys.stdin.readline))

    return wait


def _sum_up(done: ReplayResult, typed: argparse.Namespace, out: Output) -> int:
    made, given = done.regenerated.total(), done.injected.total()
    if not typed.json:
        out.write(f"Replayed {made + given} events: {made} made by the engine, {given} supplied to it.")
    for seq in done.differing:
        out.write_error(f"Event {seq}: this version of Journeyman would have written something else.")
    return FAILED if done.differing else DONE
