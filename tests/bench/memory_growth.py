"""Measures the memory growth of the real program over eight hours of eight streaming runs, as fast as possible."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.benchmark import ROOT, Measurement, scratch_folder

RUNS, HOURS, TURN_INTERVAL_S = 8, 8, 30  # one turn every 30 seconds, as a busy agent has
CHUNKS, WINDOW = 40, 32_000
MAX_GROWTH_MB, WARM_UP_SHARE = 20.0, 0.125  # share of the run: the first hour fills the caches
SCRIPT = """
import asyncio, json, sys
from pathlib import Path
from app.window.startup import wait_for_paint
from app.window.qt_application import get_or_create_application, theme_name
from core.domain.events import RunStarted
from core.domain.text import Text
from tests.e2e.process_health import memory_and_handles
from ui.shell.window_frame import WindowFrame
from ui.style.theme import load_theme
from ui.base.window_state import WindowState

home, given = Path(sys.argv[1]), json.loads(sys.argv[2])
qt, state = get_or_create_application(), WindowState(home)
shell = WindowFrame(load_theme(theme_name(qt, state)), state)
shell.show()
wait_for_paint(qt, shell)
from app.window.desktop_app import DesktopApp
from ui.base.window_loop import WindowLoop
import os

program = DesktopApp(qt, shell, state, home)
text = Text((home / "script.json").read_text())

async def begin(n):
    began = RunStarted("scripted", 0, text, mode="auto")
    return await program.engine.ask(lambda engine: engine.start(f"Read {n}.", home / "work", began))

async def main():
    living = asyncio.get_running_loop().create_task(program.run_until_closed())
    await program.engine.opened()
    names = [await begin(n) for n in range(given["runs"])]
    program.window.show_session(names[0])
    def done():
        return sum(program.window.row(name).turns for name in names) / (given["runs"] * given["turns"])
    sizes = []
    turn = 0
    while True:
        await asyncio.sleep(0.25)
        turn += 1
        if turn % 40 == 0:  # show each session in turn; hidden ones must not grow either
            program.window.show_session(names[turn // 40 % len(names)])
        sizes.append((done(), *memory_and_handles(os.getpid())))
        print(json.dumps(sizes[-1]), flush=True)
        if all(program.window.row(name).status not in ("running", "") for name in names):
            break
    os._exit(0)

with asyncio.Runner(loop_factory=lambda: WindowLoop(qt)) as runner:
    runner.run(main())
"""


def measure_growth() -> Iterator[Measurement]:
    """Compare the minimum of the last eighth with that of the second eighth; minimums ignore temporary peaks."""
    rounds = HOURS * 3600 // TURN_INTERVAL_S
    with scratch_folder() as folder:
        (folder / "work").mkdir()
        lines = "".join(f"Line {n} of the notes, which is as long as lines are.\n" for n in range(rounds + 30))
        (folder / "work" / "notes.txt").write_text(lines)
        (folder / "script.json").write_text(_script(rounds))
        sizes = [(at, mb, handles) for at, mb, handles in _sizes(folder, rounds) if at >= WARM_UP_SHARE]
    first = [one for one in sizes if one[0] < 2 * WARM_UP_SHARE]
    last = [one for one in sizes if one[0] >= 1 - WARM_UP_SHARE]
    grown = min(mb for _, mb, _ in last) - min(mb for _, mb, _ in first)
    handles = min(count for *_, count in last) - min(count for *_, count in first)
    values = {
        "turns": RUNS * rounds,
        "chunks": RUNS * rounds * CHUNKS,
        "after 1 h MB": min(mb for _, mb, _ in first),
        "growth_mb": grown,
        "handles": handles,
        "load": os.getloadavg()[0],
    }
    yield Measurement(
        f"{HOURS} h, {RUNS} runs", values, f"≤ {MAX_GROWTH_MB:g} MB", grown <= MAX_GROWTH_MB and handles <= 4
    )


def _script(rounds: int) -> str:
    replies = [
        {
            "text": f"Turn {n}. " + "Some words of a **reply** that is read while it comes. " * 20,
            "chunks": CHUNKS,
            "calls": [{"name": "read", "arguments": {"path": "notes.txt", "start": n, "end": n + 20}}],
        }
        for n in range(1, rounds)
    ]
    summary = "Lines were read one after the other; nothing in them stood out. The next lines were about to be read."
    last = {"text": "All of it was read."}
    return json.dumps({"replies": [*replies, last], "window": WINDOW, "roles": {"summary": [{"text": summary}]}})


def _sizes(folder: Path, rounds: int) -> Iterator[tuple[float, float, int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), json.dumps({"runs": RUNS, "turns": rounds})],
        cwd=ROOT, env=os.environ | {"QT_QPA_PLATFORM": "offscreen"}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        at, mb, handles = json.loads(line)
        yield at, mb, handles
    assert process.wait() == 0
