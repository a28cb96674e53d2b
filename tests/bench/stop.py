"""How long a stop takes, at random moments of whatever a run can be doing; and that nothing comes after it."""

import asyncio
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from app.assemble import Services, assemble
from core.domain.events import CallStarted, Entry, RequestSent, RunStarted
from core.domain.question import QuestionAsked
from core.domain.text import Text
from core.engine.engine import Engine
from tests.bench.bench import Figure, percentile, scratch

TIMES = 200
GOAL_MS = 100.0
BOUND_S = 30.0
SPREAD_S = 0.3  # from where the moment is reached
MARK = "86399"  # seconds that a command of ours sleeps, by which it is found among the processes
LONG = "I think about what was done and about what is to be done. " * 60


@dataclass(frozen=True, slots=True)
class Moment:
    """What the run is doing when it is stopped, and the fact after which it does that."""

    script: str
    reached: Callable[[Entry], bool]
    bound_s: float = SPREAD_S


def stops() -> Iterator[Figure]:
    took = asyncio.run(_stops())
    every = [ms for each in took.values() for ms in each]
    worst = percentile(every, 0.99)
    for name, found in took.items():
        yield Figure(name, {"p50 ms": median(found), "longest ms": max(found), "stops": len(found)})
    values = {"p50 ms": median(every), "p99 ms": worst, "longest ms": max(every), "stops": len(every)}
    yield Figure("stop", values, f"p99 ≤ {GOAL_MS:g} ms, nothing after it", worst <= GOAL_MS)


def moments() -> dict[str, Moment]:
    """Everything that takes a while."""
    slow = {"text": "Some words. " * 20, "chunks": 200, "delay_s": 60}
    command = f"while :; do echo x >> effects-$$; sleep 0.01; done & sleep {MARK} & wait"
    running, waiting = _calling("run", command=command), _calling("ask_user", question="Which?")
    child = {"agent:helper": [running]}
    full = {"text": LONG, **_calling("read", path="a.txt")}
    mixed = [
        {"text": "Some words. " * 20, "chunks": 40, "delay_s": 0.1, **_calling("run", command="sleep 0.1 & wait")},
        {"calls": [_call("read", path="a.txt"), _call("write", path="b.txt", content="x" * 9000)]},
        {"fault": "rate_limited", "retry_after_s": 0.1},
    ]
    return {
        "streaming": Moment(_played(slow), _is(RequestSent)),
        "a tool runs": Moment(_played(running), _is(CallStarted)),
        "waiting": Moment(_played(waiting), _is(QuestionAsked)),
        "compacting": Moment(_played(full, window=9_000, roles={"summary": [slow]}, then="loop"), _compacts),
        "a sub-agent runs": Moment(_played(_calling("delegate", task="Go."), roles=child), _is(CallStarted, "run")),
        "anywhere": Moment(_played(*mixed, then="loop"), _is(RunStarted), 0.6),
    }


async def _stops() -> dict[str, list[float]]:
    chance = random.Random(7)
    kinds = moments()
    took: dict[str, list[float]] = {name: [] for name in kinds}
    with scratch() as place:
        folder, home = place / "work", place / "home"
        folder.mkdir()
        home.mkdir()
        (folder / "a.txt").write_text("a\n" * 1000)
        services = await assemble(home, _report)
        try:
            ends: dict[str, int] = {}
            for number in range(TIMES):
                name = list(kinds)[number % len(kinds)]
                session, seconds = await _stop(services, folder, kinds[name], chance)
                took[name].append(seconds * 1000)
                _nothing_goes(services.engine, session)
                ends |= {row.id: row.seq for row in _family(services.engine, session)}
                effects = _effects(folder)
            await asyncio.sleep(0.2)  # for whoever would still be at it
            assert _effects(folder) == effects, "something acted after its stop"
            assert {name: services.engine.session(name).seq for name in ends} == ends, "a fact came after the stop"
        finally:
            await services.close()
    return took


async def _stop(services: Services, folder: Path, moment: Moment, chance: random.Random) -> tuple[str, float]:
    """Start, stop in the midst of it; which session, and the seconds that the stop took."""
    there = asyncio.Event()
    forget = services.engine.listen(lambda told: there.set() if moment.reached(told.entry) else None)
    try:
        began = RunStarted("scripted", 0, Text(moment.script), mode="trust")
        session = await services.engine.start("Go.", folder, began)
        async with asyncio.timeout(BOUND_S):
            await there.wait()
    finally:
        forget()
    await asyncio.sleep(chance.uniform(0, moment.bound_s))
    start = time.perf_counter()
    await services.engine.stop(session)
    return session, time.perf_counter() - start


def _nothing_goes(engine: Engine, session: str) -> None:
    assert engine.session(session).status == "stopped"
    for row in _family(engine, session):
        assert not engine.going(row.id) and row.status == "stopped", row
    assert not engine.questions() and not engine.consents()
    assert not (left := _processes()), f"left running: {left}"


def _family(engine: Engine, session: str) -> list[Any]:
    return [engine.session(session), *engine.children(session)]


def _processes() -> list[str]:
    """Commands of ours that are still there; also those that another process has taken over."""
    found: list[str] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:  # it has ended meanwhile
            continue
        if MARK.encode() in words or any(b"effects-" in word and MARK.encode() in word for word in words):
            found.append(" ".join(word.decode(errors="replace") for word in words))
    return found


def _effects(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in folder.glob("effects-*")}


def _is(kind: type, tool: str = "") -> Callable[[Entry], bool]:
    return lambda entry: isinstance(entry.event, kind) and (not tool or getattr(entry.event, "tool", "") == tool)


def _compacts(entry: Entry) -> bool:
    return isinstance(entry.event, RequestSent) and entry.event.role == "summary"


def _played(*replies: dict[str, Any], **more: Any) -> str:
    return json.dumps({"replies": list(replies), **more})


def _calling(tool: str, **arguments: object) -> dict[str, Any]:
    return {"calls": [_call(tool, **arguments)]}


def _call(tool: str, **arguments: object) -> dict[str, object]:
    return {"name": tool, "arguments": arguments}


def _report(error: BaseException) -> None:
    raise error
