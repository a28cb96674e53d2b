"""Signals: one that arrives just before the event loop goes to sleep, and one while its thread is blocked."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.process.data_folder import lock_path
from app.process.data_folder_lock import DataFolderLock
from core.domain.events import HarnessMessage
from core.store.data_folder import DATABASE_FILE
from core.store.marker import read_marker
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies

ANSWERED = """
import asyncio, signal, threading
from app.process.termination import watch_for_termination

async def main():
    watch_for_termination()
    threading.Timer(0.3, interrupt).start()  # by then the loop sleeps
    await asyncio.Event().wait()

def interrupt():
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts us in the background ignores it
try:
    with asyncio.Runner() as runner:
        runner.run(main())
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_signal_wakes_the_event_loop() -> None:
    """The test delivers the signal to another thread, which does not interrupt the sleep either."""
    done = subprocess.run([sys.executable, "-c", ANSWERED], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "stopped\n", done.stderr


BLOCKED_RUN = """
import ctypes, sys
from app.main import main
from app.process import termination
from core.domain.events import HarnessMessage
from core.domain.text import Text
from core.engine.run import call_execution

termination.UNRESPONSIVE_S = 0.5

async def hold(run, *_):
    await run.journal.append_staged(run.session, HarnessMessage(Text("submitted before")))
    print("blocked", flush=True)
    while True:
        ctypes.CDLL(None).sleep(1000)  # releases the interpreter lock, as a read from a hung drive does

call_execution.obtain_permission = hold
sys.exit(main(["run", "Go", "--script", sys.argv[1], "--mode", "auto"]))
"""

BLOCKED_WINDOW = """
import ctypes, sys
from app.main import main
from app.process import termination
from app.window.desktop_app import DesktopApp

termination.UNRESPONSIVE_S = 0.5

def block(self):
    print("blocked", flush=True)
    while True:
        ctypes.CDLL(None).sleep(1000)

DesktopApp._open_tray = block
sys.exit(main([]))
"""


STARTING = """
import asyncio, sys
from app.main import main
from core.agents.agent_pool import AgentPool

async def hold(self):
    print("blocked", flush=True)
    await asyncio.Event().wait()

AgentPool.end_leftovers = hold
sys.exit(main(["sessions"]))
"""


def terminated(program: str, *arguments: str) -> int:
    """Run a program until it says that it is blocked, send SIGTERM, and return its exit code."""
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert any("blocked" in line for line in process.stdout)
        process.terminate()
        return process.wait(60)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_sigterm_ends_a_command_whose_thread_is_blocked_and_saves_its_events(home: Path, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(scripted_replies(call_reply("write", path="a.txt", content="x")))
    assert terminated(BLOCKED_RUN, str(tmp_path / "script.json")) == 128 + signal.SIGTERM

    async def look() -> None:
        async with open_engine(home) as scene:
            (row,) = scene.engine.sessions()
            events = await scene.events(row.id)
            assert row.status == "interrupted"
            assert any(isinstance(event, HarnessMessage) for event in events), "a submitted event was lost"

    run_bounded(look())


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_sigterm_ends_a_window_whose_thread_is_blocked_and_closes_the_database(home: Path) -> None:
    assert terminated(BLOCKED_WINDOW) == 128 + signal.SIGTERM
    marker = read_marker(home / DATABASE_FILE)
    assert marker is not None and marker.closed, "the database was not closed"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_sigterm_ends_a_command_that_is_still_starting(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed, and the data folder is closed for the next command."""
    assert terminated(STARTING) == 128 + signal.SIGTERM
    assert capfd.readouterr().err == ""
    marker = read_marker(home / DATABASE_FILE)
    assert marker is not None and marker.closed
    lock = DataFolderLock(lock_path(home))
    assert lock.acquire()
    lock.release()
