"""Eight hours of eight runs that stream, as fast as it goes, in the real program: what its memory grows by."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.bench import ROOT, Figure, scratch

RUNS, HOURS, EACH_S = 8, 8, 30  # a round each half a minute, as busy agents have it
CHUNKS, WINDOW = 40, 32_000
MOST_MB, WARM = 20.0, 0.125  # the first hour fills what is kept for speed
SCRIPT = """
import asyncio, json, sys
from pathlib import Path
from app.desktop import paint
from app.display import application, theme_name
from core.domain.events import RunStarted
from core.domain.text import Text
from tests.e2e.health import size
from ui.shell import Shell
from ui.theme import load_theme
from ui.window_state import WindowState

home, given = Path(sys.argv[1]), json.loads(sys.argv[2])
qt, state = application(), WindowState(home)
shell = Shell(load_theme(theme_name(qt, state)), state)
shell.show()
paint(qt, shell)
from app.program import Program
from ui.loop import WindowLoop
import os

program = Program(qt, shell, state, home)
text = Text((home / "script.json").read_text())

async def begin(n):
    began = RunStarted("scripted", 0, text, mode="trust")
    return await program.engine.ask(lambda engine: engine.start(f"Read {n}.", home / "work", began))

async def main():
    living = asyncio.get_running_loop().create_task(program.live())
    await program.engine.met()
    names = [await begin(n) for n in range(given["runs"])]
    program.window.go_to(names[0])
    def done():
        return sum(program.window.row(name).rounds for name in names) / (given["runs"] * given["rounds"])
    sizes = []
    turn = 0
    while True:
        await asyncio.sleep(0.25)
        turn += 1
        if turn % 40 == 0:  # what is not looked at must not grow either, and what is, is looked at in turn
            program.window.go_to(names[turn // 40 % len(names)])
        sizes.append((done(), *size(os.getpid())))
        print(json.dumps(sizes[-1]), flush=True)
        if all(program.window.row(name).status not in ("running", "") for name in names):
            break
    os._exit(0)

with asyncio.Runner(loop_factory=lambda: WindowLoop(qt)) as runner:
    runner.run(main())
"""


def growth() -> Iterator[Figure]:
    """Of the last eighth over the second one: the least of each, for peaks come and go."""
    rounds = HOURS * 3600 // EACH_S
    with scratch() as folder:
        (folder / "work").mkdir()
        lines = "".join(f"Line {n} of the notes, which is as long as lines are.\n" for n in range(rounds + 30))
        (folder / "work" / "notes.txt").write_text(lines)
        (folder / "script.json").write_text(_script(rounds))
        sizes = [(at, mb, handles) for at, mb, handles in _sizes(folder, rounds) if at >= WARM]
    first = [one for one in sizes if one[0] < 2 * WARM]
    last = [one for one in sizes if one[0] >= 1 - WARM]
    grown = min(mb for _, mb, _ in last) - min(mb for _, mb, _ in first)
    handles = min(count for *_, count in last) - min(count for *_, count in first)
    values = {
        "rounds": RUNS * rounds,
        "chunks": RUNS * rounds * CHUNKS,
        "after 1 h MB": min(mb for _, mb, _ in first),
        "growth_mb": grown,
        "handles": handles,
        "load": os.getloadavg()[0],
    }
    yield Figure(f"{HOURS} h, {RUNS} runs", values, f"≤ {MOST_MB:g} MB", grown <= MOST_MB and handles <= 4)


def _script(rounds: int) -> str:
    replies = [
        {
            "text": f"Round {n}. " + "Some words of a **reply** that is read while it comes. " * 20,
            "chunks": CHUNKS,
            "calls": [{"name": "read", "arguments": {"path": "notes.txt", "start": n, "end": n + 20}}],
        }
        for n in range(1, rounds)
    ]
    told = "Lines were read one after the other; nothing in them stood out. The next lines were about to be read."
    last = {"text": "All of it was read."}
    return json.dumps({"replies": [*replies, last], "window": WINDOW, "roles": {"summary": [{"text": told}]}})


def _sizes(folder: Path, rounds: int) -> Iterator[tuple[float, float, int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), json.dumps({"runs": RUNS, "rounds": rounds})],
        cwd=ROOT, env=os.environ | {"QT_QPA_PLATFORM": "offscreen"}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        at, mb, handles = json.loads(line)
        yield at, mb, handles
    assert process.wait() == 0
