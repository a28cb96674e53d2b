"""An asyncio event loop on top of Qt's. Its timers are precise, and are deleted when they are canceled."""

import asyncio
import math
from collections.abc import Callable
from contextvars import Context
from typing import Any

import qasync
from PySide6.QtCore import QObject, Qt, QTimerEvent
from PySide6.QtWidgets import QApplication


class _Timers(QObject):
    """A set of Qt timers, one for each scheduled callback."""

    def __init__(self) -> None:
        super().__init__()
        self._handles_by_id: dict[int, asyncio.TimerHandle] = {}
        self._ids_by_handle: dict[asyncio.TimerHandle, int] = {}

    def add(self, handle: asyncio.TimerHandle, delay: float) -> None:
        """Start a timer that runs the handle after `delay` seconds."""
        timer_id = self.startTimer(max(0, math.ceil(delay * 1000)), Qt.TimerType.PreciseTimer)
        self._handles_by_id[timer_id] = handle
        self._ids_by_handle[handle] = timer_id

    def remove(self, handle: asyncio.TimerHandle) -> None:
        """Stop the timer of a handle, if it is still running."""
        timer_id = self._ids_by_handle.pop(handle, None)
        if timer_id is not None:
            del self._handles_by_id[timer_id]
            self.killTimer(timer_id)

    def __len__(self) -> int:
        return len(self._handles_by_id)

    def clear(self) -> None:
        for handle in tuple(self._ids_by_handle):
            self.remove(handle)

    # Overridden Qt methods

    def timerEvent(self, event: QTimerEvent) -> None:
        handle = self._handles_by_id.get(event.timerId())
        if handle is not None:
            self.remove(handle)
            if not handle.cancelled():
                handle._run()


class WindowLoop(qasync.QEventLoop):  # type: ignore[misc]
    """A qasync event loop with its own timers.

    qasync 0.28.0 keeps a canceled timer until its time has come, fires too early, and rounds delays below 1 ms to 0.
    """

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._precise_timers = _Timers()

    @property
    def timers(self) -> int:
        """The number of pending timers."""
        return len(self._precise_timers)

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if delay <= 0:
            handle: asyncio.Handle = super().call_later(0, callback, *args, context=context)
            return handle
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._precise_timers.add(handle, when - self.time())
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        self._precise_timers.remove(handle)

    def close(self) -> None:
        self._precise_timers.clear()
        super().close()
