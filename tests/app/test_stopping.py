"""A Ctrl+C that arrives just before the event loop goes to sleep."""

import subprocess
import sys

import pytest

ANSWERED = """
import asyncio, signal, threading
from app.main import _stoppable

async def main():
    _stoppable()
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
