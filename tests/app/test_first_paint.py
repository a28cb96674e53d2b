"""What is loaded when the window is first painted: only what is light."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.commands.exits import USAGE
from app.main import main

ROOT = Path(__file__).parents[2]
HEAVY = (
    "PySide6.QtNetwork", "app.arguments", "asyncio", "concurrent", "core.domain.events", "core.engine", "core.settings",
    "core.store", "httpx", "keyring", "markdown_it", "pydantic", "qasync", "sqlalchemy", "sqlite3", "sqlmodel",
    "ui.sessions", "ui.timeline", "ui.window",
)  # fmt: skip
LOOK = """
import builtins
import sys
from pathlib import Path
from app.main import bring_qt
own = builtins.__import__
bring_qt()
assert builtins.__import__ is own
from app import desktop
from app.display import application, theme_name
from ui.shell import Shell
from ui.theme import load_theme
from ui.window_state import WindowState

qt, state = application(), WindowState(Path(sys.argv[1]))
shell = Shell(load_theme(theme_name(qt, state)), state)
shell.show()
desktop.paint(qt, shell)
assert shell.painted
sys.stdout.write("\\n".join(sys.modules))
"""
USABLE = """
import sys
import app.assemble
import app.owner
import app.perform
import app.program
sys.stdout.write("\\n".join(sys.modules))
"""
WARMED = """
import asyncio
import sys
from pathlib import Path
from app.assemble import assemble

async def main():
    services = await assemble(Path(sys.argv[1]), print)
    warming = asyncio.create_task(services.engine.warm_up())
    await asyncio.sleep(0)  # now the first wish may come
    sys.stdout.write("\\n".join(sys.modules))
    await warming
    await services.close()

asyncio.run(main())
"""
MET = """
import asyncio
import sys
from pathlib import Path
from app.engine_thread import EngineThread
from ui.feed import Feed

async def main():
    engine = EngineThread(Path(sys.argv[1]), Feed(), print, print)
    engine.start()
    await engine.met()
    async def first(engine):
        return "pydantic.type_adapter" in sys.modules
    asked = asyncio.create_task(engine.ask(first))
    for _ in range(3):  # whatever it would do by itself has its turn
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), engine._loop))
    assert not asked.done()
    sys.stdout.write("\\n".join(sys.modules))
    engine.go_on()
    assert await asked
    engine.leave()
    await asyncio.wrap_future(engine.ended)

asyncio.run(main())
"""
LATER = ("httpx", "keyring", "mcp", "mcp_types", "pydantic", "sqlalchemy", "sqlmodel", "urllib.request", "xml")


def test_nothing_heavy_is_loaded_before_the_first_paint(home: Path) -> None:
    loaded = _loaded(LOOK, home)
    assert "PySide6.QtWidgets" in loaded
    assert _of(loaded, HEAVY) == []


def test_what_the_first_run_needs_is_loaded_after_the_window_is_usable(home: Path) -> None:
    loaded = _loaded(USABLE, home)
    assert "core.engine.engine" in loaded
    assert _of(loaded, LATER) == []


def test_the_engine_brings_nothing_heavy_until_the_window_shows_what_there_is(home: Path) -> None:
    assert _of(_loaded(MET, home), LATER) == []


def test_one_thread_brings_what_two_cannot_import_at_once(home: Path) -> None:
    """A fact that was written while another thread was importing pydantic found half of it."""
    assert {"pydantic.type_adapter", "pydantic.dataclasses"} <= set(_loaded(WARMED, home))


def _loaded(script: str, home: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, str(home)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.split()


def _of(loaded: list[str], heavy: tuple[str, ...]) -> list[str]:
    return [name for name in loaded if any(f"{name}.".startswith(f"{one}.") for one in heavy)]


def test_an_option_is_no_data_folder(capfd: pytest.CaptureFixture[str]) -> None:
    """What only opens the window is not looked at as a command is."""
    assert main(["--home", "--safe"]) == USAGE
    assert "expected one argument" in capfd.readouterr().err
