"""Measures how long it takes to stop a run at a random moment, and checks that nothing happens afterwards."""

import asyncio
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from app.process.services import Services, build_services
from core.domain.events import CallStarted, EventRecord, RequestSent, RunStarted
from core.domain.question import QuestionAsked
from core.domain.text import Text
from core.engine.api.engine import Engine
from tests.bench.benchmark import Measurement, percentile, scratch_folder

TIMES = 200
GOAL_MS = 100.0
BOUND_S = 30.0
SPREAD_S = 0.3  # the stop comes up to this long after the moment is reached
MARK = "86399"  # seconds our commands sleep; the unusual number identifies their processes
LONG = "I think about what was done and about what is to be done. " * 60


@dataclass(frozen=True, slots=True)
class Moment:
    """What the run is doing when it is stopped, and the event with which it begins to do so."""

    script: str
    reached: Callable[[EventRecord], bool]
    bound_s: float = SPREAD_S


def measure_stops() -> Iterator[Measurement]:
    took = asyncio.run(_stops())
    every = [ms for each in took.values() for ms in each]
    worst = percentile(every, 0.99)
    for name, found in took.items():
        yield Measurement(name, {"p50 ms": median(found), "longest ms": max(found), "stops": len(found)})
    values = {"p50 ms": median(every), "p99 ms": worst, "longest ms": max(every), "stops": len(every)}
    yield Measurement("stop", values, f"p99 ≤ {GOAL_MS:g} ms, nothing after the stop", worst <= GOAL_MS)


def stop_moments() -> dict[str, Moment]:
    """Return every activity of a run that takes a while."""
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
    kinds = stop_moments()
    took: dict[str, list[float]] = {name: [] for name in kinds}
    with scratch_folder() as place:
        folder, home = place / "work", place / "home"
        folder.mkdir()
        home.mkdir()
        (folder / "a.txt").write_text("a\n" * 1000)
        services = await build_services(home, _report)
        try:
            ends: dict[str, int] = {}
            for number in range(TIMES):
                name = list(kinds)[number % len(kinds)]
                session, seconds = await _stop(services, folder, kinds[name], chance)
                took[name].append(seconds * 1000)
                _nothing_goes(services.engine, session)
                ends |= {row.id: row.seq for row in _family(services.engine, session)}
                effects = _effects(folder)
            await asyncio.sleep(0.2)  # let anything that still runs show itself
            assert _effects(folder) == effects, "something acted after its stop"
            assert {name: services.engine.session(name).last_seq for name in ends} == ends, "an event followed the stop"
        finally:
            await services.close()
    return took


async def _stop(services: Services, folder: Path, moment: Moment, chance: random.Random) -> tuple[str, float]:
    """Start a run and stop it at `moment`; return the session id and the seconds the stop took."""
    there = asyncio.Event()
    forget = services.engine.subscribe(lambda update: there.set() if moment.reached(update.entry) else None)
    try:
        began = RunStarted("scripted", 0, Text(moment.script), mode="auto")
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
        assert not engine.is_active(row.id) and row.status == "stopped", row
    assert not engine.open_questions() and not engine.permission_requests()
    assert not (left := _processes()), f"left running: {left}"


def _family(engine: Engine, session: str) -> list[Any]:
    return [engine.session(session), *engine.children(session)]


def _processes() -> list[str]:
    """Return the command lines of our commands that still run, including orphaned ones."""
    found: list[str] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:  # the process has ended meanwhile
            continue
        if MARK.encode() in words or any(b"effects-" in word and MARK.encode() in word for word in words):
            found.append(" ".join(word.decode(errors="replace") for word in words))
    return found


def _effects(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in folder.glob("effects-*")}


def _is(kind: type, tool: str = "") -> Callable[[EventRecord], bool]:
    return lambda entry: isinstance(entry.event, kind) and (not tool or getattr(entry.event, "tool", "") == tool)


def _compacts(entry: EventRecord) -> bool:
    return isinstance(entry.event, RequestSent) and entry.event.purpose == "summary"


def _played(*replies: dict[str, Any], **more: Any) -> str:
    return json.dumps({"replies": list(replies), **more})


def _calling(tool: str, **arguments: object) -> dict[str, Any]:
    return {"calls": [_call(tool, **arguments)]}


def _call(tool: str, **arguments: object) -> dict[str, object]:
    return {"name": tool, "arguments": arguments}


def _report(error: BaseException) -> None:
    raise error
