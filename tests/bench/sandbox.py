"""Measures what the sandbox adds to the time of a command, and the time to scan a large folder."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from core.workspace.bubblewrap import Bubblewrap
from core.workspace.folder_listing import take_snapshot
from core.workspace.folder_scan import FolderScan
from core.workspace.landlock import Landlock
from core.workspace.launcher import CommandRequest
from core.workspace.running_command import start_command
from core.workspace.sandbox import SandboxLauncher
from core.workspace.unsandboxed import Unsandboxed
from tests.bench.benchmark import Measurement, scratch_folder

TIMES = 50
MAX_OVERHEAD_MS = {"bubblewrap": 8.0, "landlock": 15.0}
FILES = 100_000
LOOK_MS = 300.0


def measure_commands() -> Iterator[Measurement]:
    """Measure a command in each sandbox, interleaved so that a busy machine affects all of them alike."""
    rungs: list[SandboxLauncher] = [rung for rung in (Unsandboxed(), Bubblewrap(), Landlock()) if rung.available]
    took: dict[str, list[float]] = {rung.name: [] for rung in rungs}
    with scratch_folder() as folder, asyncio.Runner() as runner:
        for rung in rungs:
            runner.run(_once(rung, folder))  # the first command also starts the fork server of Landlock
        for _ in range(TIMES):
            for rung in rungs:
                took[rung.name].append(runner.run(_once(rung, folder)))
    for rung in rungs:
        rung.close()
    plain = median(took["none"])
    for name, values in took.items():
        more = median(values) - plain
        limit = MAX_OVERHEAD_MS.get(name)
        goal = f"≤ {limit:g} ms more" if limit else ""
        figures = {
            "median_ms": round(median(values), 1), "more_ms": round(more, 1), "ratio": round(median(values) / plain, 2),
            "best_ms": round(min(values), 1), "best_more_ms": round(min(values) - min(took["none"]), 1),
            "runs": len(values),
        }  # fmt: skip
        yield Measurement(name, figures, goal, limit is None or more <= limit)


async def _once(rung: SandboxLauncher, folder: Path) -> float:
    asked = CommandRequest("true", folder)
    began = time.perf_counter()
    running = await start_command(rung.prepare(asked), asked.limits)
    done = await running.wait_or_kill()
    assert done.exit_code == 0, done
    return (time.perf_counter() - began) * 1000


def measure_scans() -> Iterator[Measurement]:
    """Measure folder scans; the goal applies to the best of five, because other load only makes a scan slower."""
    with scratch_folder() as folder, contextlib.ExitStack():
        for number in range(FILES // 200):
            place = folder / f"d{number // 50}" / f"e{number}"
            place.mkdir(parents=True)
            for file in range(200):
                (place / f"f{file}.txt").write_bytes(b"x")
        scan = FolderScan(folder)
        first = _timed(scan.scan_before)
        alone = [_timed(lambda: take_snapshot(folder)) for _ in range(5)]
        before, after = [], []
        for _ in range(5):
            before.append(_timed(scan.scan_before))
            after.append(_timed(scan.changes_since))
    figures = {"best_ms": round(min(alone)), "median_ms": round(median(alone)), "files": FILES}
    yield Measurement("scan", figures, f"≤ {LOOK_MS:g} ms", min(alone) <= LOOK_MS)
    for name, values in (("before", before), ("after", after)):
        yield Measurement(name, {"best_ms": round(min(values)), "median_ms": round(median(values)), "files": FILES})
    yield Measurement("first scan, contents saved", {"ms": round(first)})


def _timed(act: object) -> float:
    began = time.perf_counter()
    act()  # type: ignore[operator]  # any of the scans
    return (time.perf_counter() - began) * 1000
