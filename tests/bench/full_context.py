"""Measures our own cost of a turn with a full context window, and with repeated compaction, against an empty one.

The long run also checks that the token ledger adds up in every turn and that compacted results can still be read back.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from app.process.services import build_services
from core.domain.events import ContextCompacted, RequestSent, RunStarted, ToolReturned
from core.domain.ids import call_id
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.engine.state.conversation import Conversation
from core.engine.state.token_counts import message_tokens
from core.store.journal_update import JournalUpdate
from tests.bench.agent_loop import Timing, current_timing, elapsed_since
from tests.bench.benchmark import Measurement, scratch_folder

FILLING_TURNS = 14  # turns before the measured ones; their size decides whether the window is full
MEASURED_TURNS = 300
REPETITIONS = 5
MOST = 1.2
LONG_RUN_TURNS = 5_000
SMALL_WINDOW = 32_000
READ_BACK_TURNS = range(450, LONG_RUN_TURNS, 500)  # turn n reads back the result of turn n / 2, which was compacted


def measure_full_context() -> Iterator[Measurement]:
    """Measure the same turns after filling the window and after not filling it, alternating; then one long run."""
    full, empty, share = [], [], 0.0
    for _ in range(REPETITIONS):
        took, share = time_run(800, MEASURED_TURNS)
        full.append(took)
        empty.append(time_run(1, MEASURED_TURNS)[0])
    ratio = median(a.cpu / b.cpu for a, b in zip(full, empty, strict=True))
    values = {
        "full ms/turn": median(took.wall for took in full) / MEASURED_TURNS * 1000,
        "empty": median(took.wall for took in empty) / MEASURED_TURNS * 1000,
        "filled %": share * 100,
        "cpu full/empty": ratio,
    }
    yield Measurement("128k filled", values, f"cpu ≤ {MOST:g} ×", ratio <= MOST)
    yield _long()


def time_run(lines: int, rounds: int) -> tuple[Timing, float]:
    """Return the time of the measured turns and the filled share of the window.

    Each of the FIRST turns reads `lines` lines and is not measured.
    """
    sizes = [lines] * FILLING_TURNS + [1] * rounds
    calls = [
        {"name": "read", "arguments": {"path": "notes.txt", "start": n, "end": n + m}} for n, m in enumerate(sizes)
    ]
    with scratch_folder() as folder:
        run = asyncio.run(_run(folder, calls, 128_000))
    assert not run.compactions, "the context was compacted, so it was no longer full"
    return run.took, run.share


def _long() -> Measurement:
    """Measure a long run with repeated compaction that now and then reads back a compacted result."""
    calls = [
        {"name": "read", "arguments": {"path": "notes.txt", "start": n, "end": n + 9}}
        for n in range(1, LONG_RUN_TURNS + 1)
    ]
    for n in READ_BACK_TURNS:
        calls[n - 1] = {"name": "recall_dropped", "arguments": {"id": call_id(n // 2, 1)}}
    with scratch_folder() as folder:
        run = asyncio.run(_run(folder, calls, SMALL_WINDOW, _proven))
    rounds = LONG_RUN_TURNS - FILLING_TURNS
    values = {
        "ms/turn": run.took.wall / rounds * 1000,
        "cpu": run.took.cpu / rounds * 1000,
        "compactions": run.compactions,
        "peak window %": run.peak_share * 100,
        "ledgers": run.checked_ledgers,
        "read back": run.read_back,
    }
    good = run.peak_share <= 1 and run.checked_ledgers == LONG_RUN_TURNS + 1 and run.read_back > LONG_RUN_TURNS - 200
    goal = "finishes, never over the window, ledger adds up, compacted results readable"
    return Measurement(f"{LONG_RUN_TURNS:,} turns in {SMALL_WINDOW // 1000}k", values, goal, good)


async def _proven(engine: Engine, session: str, run: "_Run") -> None:
    """Check that the ledger of each request equals its messages and that every compacted result can be read back."""
    talk, read = Conversation(), 0
    results: dict[int, tuple[str, Text]] = {}
    async for entry in engine.events(session):
        talk.apply(entry)
        event = entry.event
        if isinstance(event, ToolReturned):
            results[entry.seq] = (event.call_id, event.output)
        if isinstance(event, RequestSent) and not event.purpose:
            said = {kind: tokens for kind, tokens in event.tokens.items() if kind not in {"system", "tools"}}
            assert sum(said.values()) == sum(map(message_tokens, talk.messages)), f"turn {event.turn} does not add up"
            run.checked_ledgers += 1
    for call, seq in talk.compacted_calls.items():
        name, output = results[seq]
        assert name == call and "of the notes." in engine.full_text(output), f"{call} cannot be read back"
        read += 1
    for n in READ_BACK_TURNS:
        given = next(engine.full_text(output) for name, output in results.values() if name == call_id(n, 1))
        assert f"Line {n // 2 + 1} of the notes." in given, f"turn {n} did not get the result it asked for"
    run.read_back = read


class _Run:
    """Figures collected from the events of a run."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.compactions = self.checked_ledgers = self.read_back = 0
        self.share = self.peak_share = 0.0
        self.began = self.took = current_timing()

    def on_update(self, update: JournalUpdate) -> None:
        event = update.entry.event
        self.compactions += isinstance(event, ContextCompacted)
        if isinstance(event, RequestSent) and not event.purpose:
            self.share = sum(event.tokens.values()) / self.window
            self.peak_share = max(self.peak_share, self.share)
            if event.turn == FILLING_TURNS + 1:
                self.began = current_timing()


async def _run(folder: Path, calls: list[Any], window: int, then: Callable[..., Awaitable[None]] | None = None) -> _Run:
    work, home = folder / "work", folder / "home"
    work.mkdir()
    home.mkdir()
    (work / "notes.txt").write_text("".join(f"Line {n} of the notes.\n" for n in range(LONG_RUN_TURNS + 900)))
    services = await build_services(home, _report)
    try:
        run = _Run(window)
        engine = services.engine
        engine.subscribe(run.on_update)
        replies = [{"text": f"Turn {n}.", "calls": [call]} for n, call in enumerate(calls, 1)]
        summary = (
            "Lines were read one after the other; nothing in them stood out. The next lines were about to be read."
        )
        script = json.dumps({"replies": replies, "window": window, "roles": {"summary": [{"text": summary}]}})
        session = await engine.start("Read it all.", work, RunStarted("scripted", 0, Text(script)))
        await engine.wait_idle(session)
        run.took = elapsed_since(run.began)
        row = engine.session(session)
        assert (row.status, row.turns) == ("done", len(calls) + 1), row
        if then:
            await then(engine, session, run)
        return run
    finally:
        await services.close()


def _report(error: BaseException) -> None:
    raise error
