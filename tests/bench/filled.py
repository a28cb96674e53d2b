"""Our own cost of a round with the context full, and with it compacted again and again, against an empty one.

The long run also proves that its ledger adds up in every round and that nothing which was dropped is lost.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from app.assemble import assemble
from core.domain.events import ContextCompacted, RequestSent, RunStarted, ToolReturned
from core.domain.ids import call_id
from core.domain.text import Text
from core.engine.conversation import Conversation
from core.engine.engine import Engine
from core.engine.weights import weight
from core.store.told import Told
from tests.bench.bench import Figure, scratch
from tests.bench.loop import Took, now, since

FIRST = 14  # rounds that fill the window, or do not
MEASURED = 300
TURNS = 5
MOST = 1.2
LONG = 5_000
SMALL = 32_000
BACK = range(450, LONG, 500)  # rounds that read back what the half of them dropped, which is none of these


def filled() -> Iterator[Figure]:
    """The same rounds behind a full window and an empty one, in turn; then a long run in a small window."""
    full, empty, share = [], [], 0.0
    for _ in range(TURNS):
        took, share = work(800, MEASURED)
        full.append(took)
        empty.append(work(1, MEASURED)[0])
    ratio = median(a.cpu / b.cpu for a, b in zip(full, empty, strict=True))
    values = {
        "full ms/round": median(took.wall for took in full) / MEASURED * 1000,
        "empty": median(took.wall for took in empty) / MEASURED * 1000,
        "filled %": share * 100,
        "cpu full/empty": ratio,
    }
    yield Figure("128k filled", values, f"cpu ≤ {MOST:g} ×", ratio <= MOST)
    yield _long()


def work(lines: int, rounds: int) -> tuple[Took, float]:
    """Seconds of the rounds after the first ones, which read so many lines each, and how full the window was."""
    sizes = [lines] * FIRST + [1] * rounds
    calls = [
        {"name": "read", "arguments": {"path": "notes.txt", "start": n, "end": n + m}} for n, m in enumerate(sizes)
    ]
    with scratch() as folder:
        run = asyncio.run(_run(folder, calls, 128_000))
    assert not run.compactions, "it was not full any more"
    return run.took, run.share


def _long() -> Figure:
    """Every so often the run itself reads back what was dropped long before."""
    calls = [{"name": "read", "arguments": {"path": "notes.txt", "start": n, "end": n + 9}} for n in range(1, LONG + 1)]
    for n in BACK:
        calls[n - 1] = {"name": "recall_dropped", "arguments": {"id": call_id(n // 2, 1)}}
    with scratch() as folder:
        run = asyncio.run(_run(folder, calls, SMALL, _proven))
    rounds = LONG - FIRST
    values = {
        "ms/round": run.took.wall / rounds * 1000,
        "cpu": run.took.cpu / rounds * 1000,
        "compactions": run.compactions,
        "most of the window %": run.most * 100,
        "ledgers": run.ledgers,
        "read back": run.read_back,
    }
    good = run.most <= 1 and run.ledgers == LONG + 1 and run.read_back > LONG - 200
    goal = "it ends, never over, adds up each round, all dropped can be read back"
    return Figure(f"{LONG:,} rounds in {SMALL // 1000}k", values, goal, good)


async def _proven(engine: Engine, session: str, run: "_Run") -> None:
    """After the measuring: each request was what its messages weigh, and each result that was dropped is there."""
    talk, read = Conversation(), 0
    results: dict[int, tuple[str, Text]] = {}
    async for entry in engine.entries(session):
        talk.hear(entry)
        event = entry.event
        if isinstance(event, ToolReturned):
            results[entry.seq] = (event.call_id, event.output)
        if isinstance(event, RequestSent) and not event.role:
            said = {kind: tokens for kind, tokens in event.tokens.items() if kind not in {"system", "tools"}}
            assert sum(said.values()) == sum(map(weight, talk.messages)), f"round {event.round} does not add up"
            run.ledgers += 1
    for call, seq in talk.dropped.items():
        name, output = results[seq]
        assert name == call and "of the notes." in engine.whole(output), f"{call} cannot be read back"
        read += 1
    for n in BACK:
        given = next(engine.whole(output) for name, output in results.values() if name == call_id(n, 1))
        assert f"Line {n // 2 + 1} of the notes." in given, f"round {n} was not given what it asked for"
    run.read_back = read


class _Run:
    """What is heard of a run."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.compactions = self.ledgers = self.read_back = 0
        self.share = self.most = 0.0
        self.began = self.took = now()

    def hear(self, told: Told) -> None:
        event = told.entry.event
        self.compactions += isinstance(event, ContextCompacted)
        if isinstance(event, RequestSent) and not event.role:
            self.share = sum(event.tokens.values()) / self.window
            self.most = max(self.most, self.share)
            if event.round == FIRST + 1:
                self.began = now()


async def _run(folder: Path, calls: list[Any], window: int, then: Callable[..., Awaitable[None]] | None = None) -> _Run:
    work, home = folder / "work", folder / "home"
    work.mkdir()
    home.mkdir()
    (work / "notes.txt").write_text("".join(f"Line {n} of the notes.\n" for n in range(LONG + 900)))
    services = await assemble(home, _report)
    try:
        run = _Run(window)
        engine = services.engine
        engine.listen(run.hear)
        replies = [{"text": f"Round {n}.", "calls": [call]} for n, call in enumerate(calls, 1)]
        told = "Lines were read one after the other; nothing in them stood out. The next lines were about to be read."
        script = json.dumps({"replies": replies, "window": window, "roles": {"summary": [{"text": told}]}})
        session = await engine.start("Read it all.", work, RunStarted("scripted", 0, Text(script)))
        await engine.wait(session)
        run.took = since(run.began)
        row = engine.session(session)
        assert (row.status, row.rounds) == ("done", len(calls) + 1), row
        if then:
            await then(engine, session, run)
        return run
    finally:
        await services.close()


def _report(error: BaseException) -> None:
    raise error
