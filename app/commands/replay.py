"""The command `replay`: replays a session from its event log, in this process and in a temporary folder."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from app.commands.timeline_lines import step_line
from app.process import data_folder
from app.process.data_folder_lock import DataFolderLock
from app.process.exit_codes import DONE, FAILED
from app.process.output import Output, event_json
from core.domain.clock import SECOND
from core.domain.events import EventRecord, Replied, UserMessage
from core.domain.problems import Problem
from core.domain.steps import OPEN_STATUSES
from core.engine.history.replay import BeforeEvent, ReplayResult, replay_session
from core.engine.history.stepped_replay import STEP_EVENTS
from core.store.data_folder import open_data_folder
from core.store.journal_update import JournalUpdate
from core.store.reader import Reader, ReadError

LONGEST_S = 5.0  # longest pause between two events with --speed; in the run, the user may have taken a day to answer


def replay(home: Path, args: argparse.Namespace, out: Output) -> int:
    reader = _open_reader(home, out)
    try:
        matches = reader.sessions_starting_with(args.session) if args.session else []
        if len(matches) != 1:
            cause = f"{len(matches)} sessions have such an ID." if matches else ""
            raise Problem(f"There is no session {args.session!r}.", cause, "List them with `journeyman sessions`.")
        with tempfile.TemporaryDirectory(prefix="journeyman-replay-") as folder, asyncio.Runner() as runner:
            pace = _wait_for_enter(out) if args.step else _wait_as_recorded(args.speed)
            printer = _Printer(args.json, out, reader)
            result = runner.run(replay_session(reader, matches[0].id, Path(folder), printer, pace))
    finally:
        reader.close()
    return _print_result(result, args, out)


def _open_reader(home: Path, out: Output) -> Reader:
    """Open the database for reading. If no process has it open, open it for writing first, to run migrations."""
    path = data_folder.database_path(home)
    if not path.exists():
        raise Problem("There are no sessions yet.", f"{path} does not exist.", "Start one with `journeyman run`.")
    lock = DataFolderLock(data_folder.lock_path(home))
    immutable = False
    if lock.acquire():
        try:
            immutable = _migrate(home, out)
        finally:
            lock.release()
    try:
        return Reader(path, immutable=immutable)
    except ReadError as error:
        raise Problem("The database cannot be read.", f"{error}.", "Run `journeyman doctor`.") from error


def _migrate(home: Path, out: Output) -> bool:
    """Open and close the database, which runs migrations; return whether it is read-only and has no WAL to read."""
    opened = open_data_folder(home)
    for warning in opened.warnings:
        out.print_error(warning, "warning")
    if opened.database:
        opened.database.close()
    return opened.immutable


class _Printer:
    """Prints the events of a replay as `run` prints those of a run."""

    def __init__(self, json: bool, out: Output, reader: Reader) -> None:
        self._json = json
        self._out = out
        self._reader = reader

    def __call__(self, update: JournalUpdate) -> None:
        event = update.entry.event
        if self._json:
            self._out.write_json(event_json(update.entry, self._reader.blob))
            return
        if isinstance(event, UserMessage | Replied) and event.text.head:
            content = self._reader.read_text(event.text)
            self._out.write(f"You: {content}" if isinstance(event, UserMessage) else content)
        for step in update.steps:
            if step.number and step.status not in OPEN_STATUSES:
                self._out.write(step_line(step))


def _wait_as_recorded(speed: float) -> BeforeEvent:
    """Return a function that waits as long as the run took between two events, divided by `speed`; 0 means no wait."""
    previous_at = 0

    async def wait(entry: EventRecord) -> None:
        nonlocal previous_at
        if speed and previous_at:
            await asyncio.sleep(min(LONGEST_S, (entry.at - previous_at) / SECOND / speed))
        previous_at = entry.at

    return wait


def _wait_for_enter(out: Output) -> BeforeEvent:
    """Return a function that waits for Enter before each step, until standard input ends."""
    is_open = True

    async def wait(entry: EventRecord) -> None:
        nonlocal is_open
        if is_open and isinstance(entry.event, STEP_EVENTS):
            out.write_error("Press Enter for the next step")
            is_open = bool(await asyncio.to_thread(sys.stdin.readline))

    return wait


def _print_result(result: ReplayResult, args: argparse.Namespace, out: Output) -> int:
    regenerated, supplied = result.regenerated.total(), result.injected.total()
    if not args.json:
        counts = f"{regenerated} made by the engine, {supplied} supplied to it"
        out.write(f"Replayed {regenerated + supplied} events: {counts}.")
    for seq in result.differing:
        out.write_error(f"Event {seq}: this version of Journeyman would have written something else.")
    return FAILED if result.differing else DONE
