"""Measures how long the real window freezes for each provider fault while eight other runs stream."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from app.window.desktop_app import SWITCH_INTERVAL_S, DesktopApp
from app.window.qt_application import get_or_create_application
from app.window.qt_import import import_qt
from app.window.startup import wait_for_paint
from core.domain.events import RunStarted
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.models.catalog import SCRIPTED
from core.settings.schema import Provider
from tests.bench.benchmark import Measurement, scratch_folder
from tests.bench.stall_meter import StallMeter
from tests.core.engine.test_model_faults import BROKEN
from tests.servers.scripted_server import ServerAction, answer, chunk, stream
from tests.ui.test_desktop_app import until
from tests.ui.test_faults_in_window import FLOOD, HEAD, faulty_server, has_ended
from ui.base.window_loop import WindowLoop
from ui.base.window_state import WindowState
from ui.shell.window_frame import WindowFrame
from ui.style.theme import load_theme

STREAMS, CHUNKS, STREAM_S = 8, 100, 240
GOAL_MS = 100
EXTRA_FAULTS: dict[str, tuple[list[ServerAction], bytes]] = {
    "flood of words": ([HEAD, "drip"], FLOOD),
    "a line of 1 MB": (answer(stream(chunk(content="x" * 1_000_000), chunk("stop"))), b""),
    "1 MB of Markdown": (answer(stream(chunk(content="- a **b** `c` [d](e)\n" * 50_000), chunk("stop"))), b""),
    "20,000 small chunks": (answer(stream(*[chunk(content="ab ")] * 20_000, chunk("stop"))), b""),
}


def measure_faults() -> Iterator[Measurement]:
    """Measure each fault in the session that the window shows."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    import_qt()
    with scratch_folder() as folder:
        app = get_or_create_application()
        state = WindowState(folder)
        shell = WindowFrame(load_theme("dark"), state)
        shell.show()
        wait_for_paint(app, shell)
        program = DesktopApp(app, shell, state, folder)
        (folder / "work").mkdir()
        figures: list[Measurement] = []

        async def both() -> None:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(program.run_until_closed())
                longest = StallMeter()
                watching = tasks.create_task(longest.watch())
                await _stream(program, folder / "work")
                for name, (answers, drip) in _all().items():
                    figures.append(await _met(program, folder / "work", longest, name, answers, drip))
                watching.cancel()
                shell.close()

        with asyncio.Runner(loop_factory=lambda: WindowLoop(app)) as runner:
            runner.run(both())
        yield from figures


def _all() -> dict[str, tuple[list[ServerAction], bytes]]:
    made = {case: (list(one.answers[0]), one.drip) for case, one in BROKEN.items() if one.answers[0]}
    return made | EXTRA_FAULTS


async def _stream(program: DesktopApp, work: Path) -> None:
    reply = {"text": "some words of a reply " * 4_000, "chunks": CHUNKS * STREAM_S, "delay_s": STREAM_S}
    began = RunStarted(SCRIPTED, script=Text(json.dumps({"replies": [reply]})), mode="auto")
    await program.engine.opened()
    for _ in range(STREAMS):
        await program.engine.ask(lambda engine: engine.start("Talk", work, began))


async def _met(
    program: DesktopApp, work: Path, longest: StallMeter, name: str, answers: list[ServerAction], drip: bytes
) -> Measurement:
    with faulty_server(answers, drip) as url:
        await program.engine.ask(partial(_changed, Provider(name="box", url=url)))
        began = RunStarted("box/m", 5, mode="auto", interactive=True)
        session = await program.engine.ask(lambda engine: engine.start("Go.", work, began))
        longest.ms = 0.0
        program.window.show_session(session)
        await until(partial(has_ended, program.window, session), name)
        await asyncio.sleep(0.3)  # also measure painting the final state
    values: dict[str, float | int | str] = {
        "longest_ms": longest.ms,
        "ended": program.window.row(session).status,
        "load": os.getloadavg()[0],
    }
    return Measurement(name, values, f"≤ {GOAL_MS} ms", longest.ms <= GOAL_MS)


async def _changed(box: Provider, engine: Engine) -> None:
    engine.settings.change(providers=(box,), first_token_timeout_s=2.0, idle_timeout_s=2.0)
