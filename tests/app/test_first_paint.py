"""Which modules are loaded at the first paint of the window: none that is slow to import."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.main import main
from app.process.exit_codes import USAGE

ROOT = Path(__file__).parents[2]
HEAVY = (
    "PySide6.QtNetwork",
    "app.cli.arguments",
    "asyncio",
    "concurrent",
    "core.domain.events",
    "core.engine",
    "core.settings",
    "core.store",
    "httpx",
    "keyring",
    "markdown_it",
    "pydantic",
    "qasync",
    "sqlalchemy",
    "sqlite3",
    "sqlmodel",
    "ui.sessions",
    "ui.timeline",
    "ui.shell.main_window",
)
LOOK = """
import builtins
import sys
from pathlib import Path
from app.window.qt_import import import_qt
own = builtins.__import__
import_qt()
assert builtins.__import__ is own
from app.window import startup
from app.window.qt_application import get_or_create_application, theme_name
from ui.shell.window_frame import WindowFrame
from ui.style.theme import load_theme
from ui.base.window_state import WindowState

qt, state = get_or_create_application(), WindowState(Path(sys.argv[1]))
shell = WindowFrame(load_theme(theme_name(qt, state)), state)
shell.show()
startup.wait_for_paint(qt, shell)
assert shell.painted
sys.stdout.write("\\n".join(sys.modules))
"""
USABLE = """
import sys
import app.process.services
import app.process.command_server
import app.commands.command_runner
import app.window.desktop_app
sys.stdout.write("\\n".join(sys.modules))
"""
WARMED = """
import asyncio
import sys
from pathlib import Path
from app.process.services import build_services

async def main():
    services = await build_services(Path(sys.argv[1]), print)
    warming = asyncio.create_task(services.engine.warm_up())
    await asyncio.sleep(0)  # from now on the first request may come
    sys.stdout.write("\\n".join(sys.modules))
    await warming
    await services.close()

asyncio.run(main())
"""
MET = """
import asyncio
import sys
from pathlib import Path
from app.window.engine_thread import EngineThread
from ui.base.feed import Feed

async def main():
    engine = EngineThread(Path(sys.argv[1]), Feed(), print, print)
    engine.start()
    await engine.opened()
    async def first(engine):
        return "pydantic.type_adapter" in sys.modules
    asked = asyncio.create_task(engine.ask(first))
    for _ in range(3):  # lets the engine do what it would do unasked
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), engine._loop))
    assert not asked.done()
    sys.stdout.write("\\n".join(sys.modules))
    engine.allow_imports()
    assert await asked
    engine.shut_down()
    await asyncio.wrap_future(engine.ended)

asyncio.run(main())
"""
LATER = ("httpx", "keyring", "mcp", "mcp_types", "pydantic", "sqlalchemy", "sqlmodel", "urllib.request", "xml")


def test_no_heavy_module_is_loaded_before_the_first_paint(home: Path) -> None:
    loaded = _loaded(LOOK, home)
    assert "PySide6.QtWidgets" in loaded
    assert _of(loaded, HEAVY) == []


def test_modules_of_the_first_run_are_loaded_after_the_window_is_usable(home: Path) -> None:
    loaded = _loaded(USABLE, home)
    assert "core.engine.api.engine" in loaded
    assert _of(loaded, (*LATER, "core.engine.history.stepped_replay", "core.engine.history.replay")) == []


def test_the_engine_loads_no_heavy_module_before_the_window_shows_sessions(home: Path) -> None:
    assert _of(_loaded(MET, home), (*LATER, "app.cli", "app.commands", "core.engine", "core.tools")) == []


def test_one_thread_imports_what_two_cannot_import_at_once(home: Path) -> None:
    """An event that was written while another thread imported pydantic found a half-imported module."""
    assert {"pydantic.type_adapter", "pydantic.dataclasses"} <= set(_loaded(WARMED, home))


def test_reading_the_data_file_does_not_load_what_writes_it(home: Path) -> None:
    loaded = _loaded("import sys, core.store.reader, core.timeline.idle_runs; print(*sys.modules)", home)
    writing = ("files", "former_names", "health", "migrate", "write_state", "journal")
    assert _of(loaded, ("core.models.work_phrases", *(f"core.store.{name}" for name in writing))) == []


def _loaded(script: str, home: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, str(home)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.split()


def _of(loaded: list[str], heavy: tuple[str, ...]) -> list[str]:
    return [name for name in loaded if any(f"{name}.".startswith(f"{one}.") for one in heavy)]


def test_an_option_is_not_taken_for_a_data_folder(capfd: pytest.CaptureFixture[str]) -> None:
    """A plain start of the window does not parse arguments, but must not take an option for a folder."""
    assert main(["--data-dir", "--safe"]) == USAGE
    assert "expected one argument" in capfd.readouterr().err
