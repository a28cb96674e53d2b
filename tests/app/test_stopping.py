"""A Ctrl+C that comes at the worst moment."""

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

signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where a shell began us in the background
try:
    with asyncio.Runner() as runner:
        runner.run(main())
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_signal_that_does_not_interrupt_the_sleep_of_the_loop_wakes_it() -> None:
    """One that another thread takes is such a one; so is one that comes between the last look and the sleep."""
    done = subprocess.run([sys.executable, "-c", ANSWERED], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "stopped\n", done.stderr
