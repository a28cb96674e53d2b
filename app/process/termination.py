"""Ends the program on a signal even if its main thread is blocked and cannot handle the signal.

Python runs signal handlers on the main thread only, after the current call into C has returned. A call that does not
return, such as a read from a hung network drive, would keep the program alive until it is killed. Here a thread of its
own receives the signals. It cannot help against a call that also holds the interpreter lock.
"""

import asyncio
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

UNRESPONSIVE_S = 5.0  # seconds in which the event loop must react to the signal
SHUTDOWN_S = 60.0  # seconds in which the program must have shut down after that
SAVE_S = 20.0  # seconds for saving before a forced exit
# Bytes in the pipe that are not the number of a signal: the event loop has reacted, or the watch was closed.
HEARD, CLOSED = 0xFF, 0x00


class TerminationWatch:
    """Passes signals to the event loop, and exits the process if the loop does not react or does not finish in time.

    Create it on the main thread, in the event loop. `handlers` maps each signal to a function, which the event loop
    calls once. On Windows, the watch does nothing.

    Attributes:
        save: Called on another thread before a forced exit.
    """

    def __init__(self, handlers: Mapping[int, Callable[[], object]], save: Callable[[], object] = lambda: None) -> None:
        self._loop = asyncio.get_running_loop()
        self._handlers = dict(handlers)
        self.save = save
        self._deadline: float | None = None
        self._received_signal = 0
        self._thread: threading.Thread | None = None
        if sys.platform != "win32":
            self._start()

    def _start(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._previous_wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._previous = {number: signal.signal(number, _ignore) for number in self._handlers}
        for number in self._handlers:
            signal.siginterrupt(number, False)
        self._thread = threading.Thread(target=self._watch, name="signals", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching, and restore the signal handlers."""
        if self._thread is None:
            return
        signal.set_wakeup_fd(self._previous_wakeup)
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        os.write(self._write, bytes([CLOSED]))
        self._thread.join()
        self._thread = None
        os.close(self._read)
        os.close(self._write)

    def _watch(self) -> None:
        while True:
            timeout = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
            if not select.select([self._read], [], [], timeout)[0]:
                self._exit()
            for byte in os.read(self._read, 4096):
                if byte == CLOSED:
                    return
                if byte == HEARD:
                    self._deadline = time.monotonic() + SHUTDOWN_S
                elif byte in self._handlers and self._deadline is None:
                    self._received_signal = byte
                    self._deadline = time.monotonic() + UNRESPONSIVE_S
                    self._call(self._handle)
                else:
                    self._call(_ignore)  # wake the loop, so that Python runs its own handler of the signal

    def _call(self, work: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # raised if the loop is closed
            self._loop.call_soon_threadsafe(work)

    def _handle(self) -> None:
        """Confirm to the watching thread that the loop reacts, then call the handler. Called in the event loop."""
        os.write(self._write, bytes([HEARD]))
        self._handlers[self._received_signal]()

    def _exit(self) -> None:
        try:
            self.save()
        finally:
            os._exit(128 + self._received_signal)


def watch_for_termination() -> TerminationWatch:
    """Let SIGTERM cancel the current task.

    The watch also wakes the loop for a Ctrl+C that arrives just before the loop goes to sleep. Otherwise Ctrl+C would
    be noticed only at the next event.
    """
    task = asyncio.current_task()
    assert task is not None
    return TerminationWatch({signal.SIGTERM: task.cancel})


def _ignore(*_: object) -> None:
    pass
