"""What the walls add to a command, side by side with the same command without them; and a look at a large folder."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from core.workspace.bubblewrap import Bubblewrap
from core.workspace.landlock import Landlock
from core.workspace.launch import Asked
from core.workspace.plain import Plain
from core.workspace.process import begin
from core.workspace.sandbox import Rung
from core.workspace.scan import Scan, look
from tests.bench.bench import Figure, scratch

TIMES = 50
MORE_MS = 12.0
FILES = 100_000
LOOK_MS = 300.0


def commands() -> Iterator[Figure]:
    """In turn, so that a busy machine hits all of them alike."""
    rungs: list[Rung] = [rung for rung in (Plain(), Bubblewrap(), Landlock()) if rung.possible]
    took: dict[str, list[float]] = {rung.name: [] for rung in rungs}
    with scratch() as folder, asyncio.Runner() as runner:
        for turn in (rungs[:2], rungs[2:]):  # the second rung starts a Python, which would disturb the others
            for _ in range(TIMES):
                for rung in turn:
                    took[rung.name].append(runner.run(_once(rung, folder)))
    for rung in rungs:
        rung.close()
    plain = median(took["none"])
    for name, values in took.items():
        more = median(values) - plain
        goal = f"≤ {MORE_MS:g} ms more" if name == "bubblewrap" else ""
        figures = {
            "median_ms": round(median(values), 1), "more_ms": round(more, 1), "ratio": round(median(values) / plain, 2),
            "best_ms": round(min(values), 1), "best_more_ms": round(min(values) - min(took["none"]), 1),
            "runs": len(values),
        }  # fmt: skip
        yield Figure(name, figures, goal, not goal or more <= MORE_MS)


async def _once(rung: Rung, folder: Path) -> float:
    asked = Asked("true", folder)
    began = time.perf_counter()
    running = await begin(rung.prepare(asked), asked.limits)
    done = await running.until_end()
    assert done.exit_code == 0, done
    return (time.perf_counter() - began) * 1000


def looks() -> Iterator[Figure]:
    """The best of some: what else the machine does can only make it slower."""
    with scratch() as folder, contextlib.ExitStack():
        for number in range(FILES // 200):
            place = folder / f"d{number // 50}" / f"e{number}"
            place.mkdir(parents=True)
            for file in range(200):
                (place / f"f{file}.txt").write_bytes(b"x")
        scan = Scan(folder)
        first = _timed(scan.before)
        alone = [_timed(lambda: look(folder)) for _ in range(5)]
        before, after = [], []
        for _ in range(5):
            before.append(_timed(scan.before))
            after.append(_timed(scan.after))
    figures = {"best_ms": round(min(alone)), "median_ms": round(median(alone)), "files": FILES}
    yield Figure("look", figures, f"≤ {LOOK_MS:g} ms", min(alone) <= LOOK_MS)
    for name, values in (("before", before), ("after", after)):
        yield Figure(name, {"best_ms": round(min(values)), "median_ms": round(median(values)), "files": FILES})
    yield Figure("first look, contents kept", {"ms": round(first)})


def _timed(act: object) -> float:
    began = time.perf_counter()
    act()  # type: ignore[operator]  # any of the looks
    return (time.perf_counter() - began) * 1000
