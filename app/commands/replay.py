"""`replay`: play a session from its own record, in this process and in a folder that is thrown away."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from app import places
from app.commands.exits import DONE, FAILED
from app.commands.follow import step_line
from app.output import Output, plain_entry
from app.single import Lock
from core.domain.clock import SECOND
from core.domain.events import CallRefused, CallStarted, Entry, PersonSpoke, Replied, RequestSent
from core.domain.problems import Problem
from core.domain.question import QuestionAsked
from core.domain.steps import OPEN
from core.engine.replay import Pace, Replayed
from core.engine.replay import replay as play
from core.store.opening import open_data
from core.store.reader import Reader, Unreadable
from core.store.told import Told

LONGEST_S = 5.0  # at a speed: a person's night is not waited through
STEPS = (PersonSpoke, RequestSent, CallStarted, CallRefused, QuestionAsked)


def replay(home: Path, typed: argparse.Namespace, out: Output) -> int:
    reader = _reader(home, out)
    try:
        found = reader.named(typed.session) if typed.session else []
        if len(found) != 1:
            why = f"{len(found)} sessions begin so." if found else ""
            raise Problem(f"There is no session {typed.session!r}.", why, "List them with `journeyman sessions`.")
        with tempfile.TemporaryDirectory(prefix="journeyman-replay-") as folder, asyncio.Runner() as runner:
            pace = _step(out) if typed.step else _pace(typed.speed)
            done = runner.run(play(reader, found[0].id, Path(folder), _Printer(typed.json, out, reader), pace))
    finally:
        reader.close()
    return _sum_up(done, typed, out)


def _reader(home: Path, out: Output) -> Reader:
    """The data as it is. Where nobody has it open, it is opened once, so that an old form is brought up to date."""
    path = places.database(home)
    if not path.exists():
        raise Problem("There are no sessions yet.", f"{path} does not exist.", "Begin one with `journeyman run`.")
    lock, frozen = Lock(places.lock(home)), False
    if lock.take():
        try:
            frozen = _opened_once(home, out)
        finally:
            lock.release()
    try:
        return Reader(path, frozen=frozen)
    except Unreadable as error:
        raise Problem("The data file cannot be read.", f"{error}.", "Look with `journeyman doctor`.") from error


def _opened_once(home: Path, out: Output) -> bool:
    """True where the file can only be looked at, and no log waits beside it."""
    opened = open_data(home)
    for note in opened.notes:
        out.trouble(note)
    if opened.database:
        opened.database.close()
    return opened.frozen


class _Printer:
    """Prints what the replay makes, as `run` prints it."""

    def __init__(self, json: bool, out: Output, reader: Reader) -> None:
        self._json = json
        self._out = out
        self._reader = reader

    def __call__(self, told: Told) -> None:
        event = told.entry.event
        if self._json:
            self._out.json(plain_entry(told.entry, self._reader.blob))
            return
        if isinstance(event, PersonSpoke | Replied) and event.text.head:
            text = event.text
            words = self._reader.blob(text.blob).decode("utf-8", "replace") if text.blob else text.head
            self._out.write(f"You: {words}" if isinstance(event, PersonSpoke) else words)
        for step in told.steps:
            if step.number and step.status not in OPEN:
                self._out.write(step_line(step))


def _pace(speed: float) -> Pace:
    """As far apart as they were, divided by the speed; at once without one."""
    before = 0

    async def wait(entry: Entry) -> None:
        nonlocal before
        if speed and before:
            await asyncio.sleep(min(LONGEST_S, (entry.at - before) / SECOND / speed))
        before = entry.at

    return wait


def _step(out: Output) -> Pace:
    """A key before each step; when no more keys come, the rest at once."""
    listening = True

    async def wait(entry: Entry) -> None:
        nonlocal listening
        if listening and isinstance(entry.event, STEPS):
            out.complain("Enter: next step")
            listening = bool(await asyncio.to_thread(sys.stdin.readline))

    return wait


def _sum_up(done: Replayed, typed: argparse.Namespace, out: Output) -> int:
    made, given = done.made.total(), done.given.total()
    if not typed.json:
        out.write(f"Played {made + given} entries: {made} made again by the engine, {given} given to it.")
    for seq in done.differing:
        out.complain(f"Entry {seq}: this version of Journeyman would have written something else.")
    return FAILED if done.differing else DONE
