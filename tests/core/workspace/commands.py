"""How tests run a command between walls, as whoever they run as."""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from core.workspace.bubblewrap import Bubblewrap
from core.workspace.landlock import Landlock
from core.workspace.launch import Asked, Limits
from core.workspace.plain import Plain
from core.workspace.process import Finished
from core.workspace.sandbox import Rung, Sandbox
from core.workspace.selftest import Proof, prove

T = TypeVar("T")
RUNGS: dict[str, Callable[[], Rung]] = {"bubblewrap": Bubblewrap, "landlock": Landlock, "none": Plain}


@functools.cache
def proof_of(name: str) -> Proof | None:
    """What this rung is worth here; none for the one without walls."""
    launcher = RUNGS[name]()
    with contextlib.closing(launcher):
        if name == "none" or not launcher.possible:
            return None
        return prove(launcher)


@contextlib.contextmanager
def walls(name: str) -> Iterator[Sandbox]:
    """A sandbox of one rung; the test is left out where this machine does not offer it."""
    proof = proof_of(name)
    if name != "none" and (proof is None or not proof.works):
        pytest.skip(f"this machine offers no {name}")
    with contextlib.closing(Sandbox(RUNGS[name](), proof, unconfined=True)) as made:
        yield made


def await_(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner() as runner:
        return runner.run(work)


def run(sandbox: Sandbox, command: str, folder: Path, limits: Limits | None = None) -> Finished:
    return await_(sandbox.run(Asked(command, folder, limits or Limits(time_s=30))))


class Ear:
    """Hears what a command prints, and can be waited by."""

    def __init__(self) -> None:
        self.heard = b""
        self._more = asyncio.Event()

    def __call__(self, piece: bytes) -> None:
        self.heard += piece
        self._more.set()

    async def until(self, words: bytes) -> None:
        """Wait until these words were printed."""
        async with asyncio.timeout(20):
            while words not in self.heard:
                self._more.clear()
                await self._more.wait()
