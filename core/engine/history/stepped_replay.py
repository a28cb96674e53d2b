"""A replay that the user advances step by step. For each timeline row it reports whether the engine did the same."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from core.domain.events import (
    EVENT_KINDS,
    CallRefused,
    CallStarted,
    EventRecord,
    Replied,
    RequestSent,
    SessionEvent,
    UserMessage,
)
from core.domain.question import QuestionAsked
from core.domain.steps import Outline, Step, fold
from core.engine.history.replay import EventOrigin, replay_session
from core.store.journal_update import JournalUpdate
from core.store.reader import Reader

STEP_EVENTS: Final = (UserMessage, RequestSent, CallStarted, CallRefused, QuestionAsked)  # each begins a step
TO_THE_END: Final = -1
SEVERITY: Final[Mapping[EventOrigin, int]] = {"supplied": 0, "played": 1, "different": 2}


@dataclass(frozen=True, slots=True)
class ReplayedRow:
    """A timeline row that was replayed. If the engine deviated, `played` describes what it would have done."""

    step: Step
    origin: EventOrigin
    played: str = ""


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """The state of a replay that waits for `advance`, or has ended.

    Attributes:
        rows: the rows that were replayed or changed since the last report, by number.
        played, supplied, different: the numbers of events so far.
        ended: whether all events were replayed.
    """

    rows: Mapping[int, ReplayedRow] = field(default_factory=dict)
    played: int = 0
    supplied: int = 0
    different: int = 0
    ended: bool = False


class _ReplayClosed(Exception):
    """Raised inside a replay to end it."""


class SteppedReplay:
    """A replay of one session.

    `run` plays it; `report` is called whenever it waits for `advance`, and at its end. Call all methods in the event
    loop of `run`.
    """

    def __init__(self, session: str, report: Callable[[ReplayProgress], None]) -> None:
        self._session = session
        self._report = report
        self._rows: dict[int, ReplayedRow] = {}
        self._changed: set[int] = set()
        self._counts = {"played": 0, "supplied": 0, "different": 0}
        self._origin: EventOrigin = "supplied"
        self._instead = ""
        self._allowed_steps = 0  # Steps to replay before waiting for `advance`, or TO_THE_END.
        self._pause_at_row: int | None = None
        self._step_requested = asyncio.Event()
        self._closed = False

    def advance(self, steps: int = 1) -> None:
        """Replay this many more steps, or all remaining steps with TO_THE_END."""
        self._allowed_steps = steps
        self._step_requested.set()

    def advance_to(self, row: int) -> None:
        """Replay until the row with this number is next."""
        self._pause_at_row = row
        self.advance(TO_THE_END)

    def close(self) -> None:
        """End the replay where it is."""
        self._closed = True
        self._step_requested.set()

    async def run(self, reader: Reader) -> None:
        """Play the session in a temporary data folder."""
        try:
            with tempfile.TemporaryDirectory(prefix="journeyman-replay-") as folder:
                await replay_session(
                    reader, self._session, Path(folder), self._on_update, self._before_event, self._note_origin
                )
        except* _ReplayClosed:
            pass
        if not self._closed:
            self._send(ended=True)

    async def _before_event(self, entry: EventRecord) -> None:
        if isinstance(entry.event, STEP_EVENTS):
            await self._before_step()
        if self._closed:
            raise _ReplayClosed

    async def _before_step(self) -> None:
        """Wait until the next step may be replayed, or the replay is closed."""
        next_row = max(self._rows, default=-1) + 1
        if self._pause_at_row is not None and self._pause_at_row <= next_row:
            self._allowed_steps = 0
            self._pause_at_row = None
        while self._allowed_steps == 0 and not self._closed:
            self._send(ended=False)
            self._step_requested.clear()
            await self._step_requested.wait()
        if self._allowed_steps > 0:
            self._allowed_steps -= 1

    def _note_origin(self, entry: EventRecord, origin: EventOrigin, instead: SessionEvent | None) -> None:
        self._origin = origin
        self._counts[origin] += 1
        self._instead = describe_event(entry, instead) if instead else ""

    def _on_update(self, update: JournalUpdate) -> None:
        for step in update.steps:
            row = ReplayedRow(step, self._origin, self._instead)
            known = self._rows.get(step.row)
            if known and (step.kind == "run" or SEVERITY[known.origin] >= SEVERITY[row.origin]):
                row = replace(known, step=step)
            self._rows[step.row] = row
            self._changed.add(step.row)

    def _send(self, *, ended: bool) -> None:
        rows = {row: self._rows[row] for row in sorted(self._changed)}
        self._changed.clear()
        self._report(ReplayProgress(rows, **self._counts, ended=ended))


def describe_event(entry: EventRecord, event: SessionEvent) -> str:
    """Describe an event in a short text. `entry` provides the session, time and number for the text of its row."""
    if isinstance(event, Replied):
        return event.text.head or ", ".join(call.tool for call in event.calls)
    record = EventRecord(entry.session, entry.seq, entry.run, entry.at, event)
    rows = fold(record, Outline())
    kind = EVENT_KINDS[type(event)].replace("_", " ")
    return f"{kind}: {rows[-1].object}" if rows and rows[-1].object else kind
