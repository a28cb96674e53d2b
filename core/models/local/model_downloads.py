"""Downloads models in the background, and keeps their progress and errors."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import ErrorDetails, Problem
from core.models.local.model_state import DownloadProgress
from core.models.local.model_table import LocalModel

PUBLISH_S = 0.25  # seconds between two reports of progress
SPEED_S = 8.0  # the download speed is averaged over this many seconds


class _Sample(NamedTuple):
    """How many bytes of a file had arrived at a time, in monotonic seconds."""

    at: float
    done: int


class ModelDownloads:
    """Runs at most one download per model. `on_change` is called after each change of progress or state."""

    def __init__(self, on_change: Callable[[], object]) -> None:
        self._on_change = on_change
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._progress: dict[str, DownloadProgress] = {}
        self._errors: dict[str, ErrorDetails] = {}

    def progress(self, name: str) -> DownloadProgress | None:
        """Return the progress of a running download; None if none is running for this model."""
        return self._progress.get(name)

    def error(self, name: str) -> ErrorDetails | None:
        """Return why the last download of a model failed; None if it did not."""
        return self._errors.get(name)

    def start(self, model: LocalModel, target: Path, addresses: Sequence[str], proxy: str, partial: int) -> bool:
        """Start or continue a download from byte `partial`; return False if it is already running."""
        name = model.name
        if name in self._tasks:
            return False
        self._errors.pop(name, None)
        self._progress[name] = DownloadProgress(partial, model.size)
        work = self._download(model, target, addresses, proxy)
        self._tasks[name] = asyncio.create_task(work, name=f"download {name}")
        self._on_change()
        return True

    async def wait(self, name: str, timeout_s: float) -> DownloadProgress | None:
        """Wait up to `timeout_s` seconds for the end of a download; return its progress if it is still running."""
        if task := self._tasks.get(name):
            await asyncio.wait([task], timeout=timeout_s)
        return self._progress.get(name)

    async def stop(self, name: str) -> None:
        """Stop a download, keeping the received part of the file."""
        if task := self._tasks.get(name):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def forget_error(self, name: str) -> None:
        self._errors.pop(name, None)

    async def close(self) -> None:
        for name in tuple(self._tasks):
            await self.stop(name)

    async def _download(self, model: LocalModel, target: Path, addresses: Sequence[str], proxy: str) -> None:
        from core.models.local.download import download  # imports the HTTP library

        name = model.name
        samples: deque[_Sample] = deque()
        published = 0.0

        def report(done: int, size: int) -> None:
            nonlocal published
            now = time.monotonic()
            if now - published < PUBLISH_S and done < size:
                return
            published = now
            samples.append(_Sample(now, done))
            while now - samples[0].at > SPEED_S:
                samples.popleft()
            elapsed = now - samples[0].at
            received = done - samples[0].done
            speed = max(0.0, received / elapsed) if elapsed else 0.0
            self._progress[name] = DownloadProgress(done=done, size=size, speed=speed)
            self._on_change()

        try:
            await download(model, target, addresses, proxy, report)
        except Problem as problem:
            self._errors[name] = problem.details
        finally:
            del self._tasks[name], self._progress[name]
            self._on_change()
