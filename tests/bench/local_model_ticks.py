"""Measures the window's ticks while a real model that Journeyman runs reads a long prompt on all cores.

`measure_ticks` starts this module as a program: python -m tests.bench.local_model_ticks HOME.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.benchmark import ROOT, Measurement, percentile, scratch_folder
from tests.servers.thinking import packaged_model

MODEL = "qwen2.5-coder-1.5b"
WATCH_S = 8.0
MAX_TICK_MS = 50.0
LOAD_S = 120.0


def measure_ticks() -> Measurement:
    """Measure in a process of its own, because a program has only one Qt application."""
    path = packaged_model("qwen")
    with scratch_folder() as folder:
        (folder / "models").mkdir()
        (folder / "models" / f"{MODEL}.gguf").symlink_to(path)
        command = [sys.executable, "-m", "tests.bench.local_model_ticks", str(folder)]
        environment = os.environ | {"QT_QPA_PLATFORM": "offscreen"}
        ran = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    late = json.loads(ran.stdout.splitlines()[-1])
    values = {"worst_ms": max(late), "p99_ms": percentile(late, 0.99), "load": os.getloadavg()[0]}
    goal = f"worst ≤ {MAX_TICK_MS:g} ms"
    return Measurement("window tick while it computes", values, goal, max(late) <= MAX_TICK_MS)


def main(home: Path) -> None:
    """Print the durations of ticks of 16 ms as JSON, in milliseconds beyond those."""
    from app.window.qt_import import import_qt

    import_qt()
    from app.window.desktop_app import DesktopApp
    from app.window.qt_application import get_or_create_application
    from app.window.startup import wait_for_paint
    from core.domain.events import RunStarted
    from ui.base.window_loop import WindowLoop
    from ui.base.window_state import WindowState
    from ui.shell.window_frame import WindowFrame
    from ui.style.theme import load_theme

    app, state, work = get_or_create_application(), WindowState(home), home / "work"
    work.mkdir()
    shell = WindowFrame(load_theme("dark"), state)
    shell.show()
    wait_for_paint(app, shell)
    program = DesktopApp(app, shell, state, home)
    task = "Summarize these numbers. " + " ".join(str(number) for number in range(3_000))
    late = list[float]()

    async def watch() -> None:
        session = await program.engine.ask(lambda engine: engine.start(task, work, RunStarted(f"local/{MODEL}")))
        program.window.show_session(session)
        async with asyncio.timeout(LOAD_S):
            while "reading" not in program.window.step_pane.live_output.activity(session):  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.1)
        until = time.perf_counter() + WATCH_S
        while time.perf_counter() < until:
            begun = time.perf_counter()
            await asyncio.sleep(0.016)
            late.append((time.perf_counter() - begun) * 1000 - 16)
        await program.engine.ask(lambda engine: engine.stop(session))

    async def both() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(program.run_until_closed())
            await watch()
            shell.shut_down()

    with asyncio.Runner(loop_factory=lambda: WindowLoop(app)) as runner:
        runner.run(both())
    sys.stdout.write(json.dumps(late) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
