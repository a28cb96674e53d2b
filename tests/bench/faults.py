"""Broken model servers beside eight streams, in the real program: how long the window stands still for each of them."""

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from app.desktop import paint
from app.display import application
from app.heartbeat import Others, Schedule, behind
from app.main import bring_qt
from app.program import SWITCH_S, Program
from core.domain.events import RunStarted
from core.domain.text import Text
from core.engine.engine import Engine
from core.models.catalogue import SCRIPTED
from core.settings.schema import Provider
from tests.bench.bench import Figure, scratch
from tests.core.engine.test_model_faults import BROKEN
from tests.servers.scripted import Act, answer, chunk, stream
from tests.ui.test_desktop import until
from tests.ui.test_faults_in_window import FLOOD, HEAD, broken, has_ended
from ui.loop import WindowLoop
from ui.shell import Shell
from ui.theme import load_theme
from ui.window_state import WindowState

STREAMS, CHUNKS, STREAM_S = 8, 100, 240
GOAL_MS, TICK_S = 100, 0.01
MORE: dict[str, tuple[list[Act], bytes]] = {
    "flood of words": ([HEAD, "drip"], FLOOD),
    "a line of 1 MB": (answer(stream(chunk(content="x" * 1_000_000), chunk("stop"))), b""),
    "1 MB of Markdown": (answer(stream(chunk(content="- a **b** `c` [d](e)\n" * 50_000), chunk("stop"))), b""),
    "20,000 small chunks": (answer(stream(*[chunk(content="ab ")] * 20_000, chunk("stop"))), b""),
}


class Longest:
    """The longest time that the window's loop was late by, without what other programs kept it waiting."""

    def __init__(self) -> None:
        mine = threading.get_native_id()
        self._schedule, self._others = Schedule(mine), Others(mine)
        self.ms = 0.0

    async def watch(self) -> None:
        while True:
            self._others.find()
            began, before, held = time.perf_counter(), self._schedule.ran(), self._others.held()
            await asyncio.sleep(TICK_S)
            late = time.perf_counter() - began - TICK_S
            others = behind(late, before, self._schedule.ran(), self._others.held() - held)
            self.ms = max(self.ms, (late - others) * 1000)


def faults() -> Iterator[Figure]:
    """Each fault in a session that is shown."""
    sys.setswitchinterval(SWITCH_S)
    bring_qt()
    with scratch() as folder:
        app = application()
        state = WindowState(folder)
        shell = Shell(load_theme("dark"), state)
        shell.show()
        paint(app, shell)
        program = Program(app, shell, state, folder)
        (folder / "work").mkdir()
        figures: list[Figure] = []

        async def both() -> None:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(program.live())
                longest = Longest()
                watching = tasks.create_task(longest.watch())
                await _stream(program, folder / "work")
                for name, (answers, drip) in _all().items():
                    figures.append(await _met(program, folder / "work", longest, name, answers, drip))
                watching.cancel()
                shell.close()

        with asyncio.Runner(loop_factory=lambda: WindowLoop(app)) as runner:
            runner.run(both())
        yield from figures


def _all() -> dict[str, tuple[list[Act], bytes]]:
    made = {case: (list(one.answers[0]), one.drip) for case, one in BROKEN.items() if one.answers[0]}
    return made | MORE


async def _stream(program: Program, work: Path) -> None:
    reply = {"text": "some words of a reply " * 4_000, "chunks": CHUNKS * STREAM_S, "delay_s": STREAM_S}
    began = RunStarted(SCRIPTED, script=Text(json.dumps({"replies": [reply]})), mode="trust")
    await program.engine.met()
    for _ in range(STREAMS):
        await program.engine.ask(lambda engine: engine.start("Talk", work, began))


async def _met(program: Program, work: Path, longest: Longest, name: str, answers: list[Act], drip: bytes) -> Figure:
    with broken(answers, drip) as url:
        await program.engine.ask(partial(_changed, Provider(name="box", url=url)))
        began = RunStarted("box/m", 5, mode="trust", attended=True)
        session = await program.engine.ask(lambda engine: engine.start("Go.", work, began))
        longest.ms = 0.0
        program.window.go_to(session)
        await until(partial(has_ended, program.window, session), name)
        await asyncio.sleep(0.3)  # and what it leaves on the screen
    values: dict[str, float | int | str] = {
        "longest_ms": longest.ms,
        "ended": program.window.row(session).status,
        "load": os.getloadavg()[0],
    }
    return Figure(name, values, f"≤ {GOAL_MS} ms", longest.ms <= GOAL_MS)


async def _changed(box: Provider, engine: Engine) -> None:
    engine.settings.change(providers=(box,), first_s=2.0, silence_s=2.0)
