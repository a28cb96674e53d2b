"""How long a stop takes, at random moments of a run."""

import asyncio
import json
import random
import time
from collections.abc import Iterator
from statistics import median

from app.assemble import assemble
from core.domain.events import RunStarted, Text
from tests.bench.bench import Figure, percentile, scratch

TIMES = 200
GOAL_MS = 100.0


def stops() -> Iterator[Figure]:
    took = asyncio.run(_stops())
    worst = percentile(took, 0.99)
    values = {"p50 ms": median(took), "p99 ms": worst, "longest ms": max(took), "stops": len(took)}
    yield Figure("stop", values, f"p99 ≤ {GOAL_MS:g} ms", worst <= GOAL_MS)


async def _stops() -> list[float]:
    """Streaming, reading, a command with children: each stop falls somewhere into it."""
    chance = random.Random(7)
    command = _call("run", command="sleep 0.1 & wait")
    replies = [
        {"text": "Some words. " * 20, "chunks": 40, "delay_s": 0.1, "calls": [command]},
        {"text": "Now read.", "calls": [_call("read", path="a.txt"), _call("write", path="b.txt", content="x" * 9000)]},
        {"fault": "rate_limited", "retry_after_s": 0.1},
    ]
    script = json.dumps({"replies": replies, "then": "loop"})
    took: list[float] = []
    with scratch() as folder:
        (folder / "a.txt").write_text("a\n" * 1000)
        home = folder / "home"
        home.mkdir()
        services = await assemble(home, _report)
        try:
            for _ in range(TIMES):
                session = await services.engine.start(
                    "Go.", folder, RunStarted("scripted", 0, Text(script), mode="trust")
                )
                await asyncio.sleep(chance.uniform(0, 0.5))
                began = time.perf_counter()
                await services.engine.stop(session)
                took.append((time.perf_counter() - began) * 1000)
                assert services.engine.session(session).status == "stopped"
        finally:
            await services.close()
    return took


def _call(tool: str, **arguments: object) -> dict[str, object]:
    return {"name": tool, "arguments": arguments}


def _report(error: BaseException) -> None:
    raise error
