"""Helpers that run a command in a sandbox, as the user who runs the tests."""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from core.workspace.bubblewrap import Bubblewrap
from core.workspace.landlock import Landlock
from core.workspace.launcher import CommandLimits, CommandRequest
from core.workspace.running_command import FinishedCommand
from core.workspace.sandbox import Sandbox, SandboxLauncher
from core.workspace.sandbox_selftest import SandboxProof, prove_sandbox
from core.workspace.unsandboxed import Unsandboxed

T = TypeVar("T")
LAUNCHERS: dict[str, Callable[[], SandboxLauncher]] = {
    "bubblewrap": Bubblewrap,
    "landlock": Landlock,
    "none": Unsandboxed,
}


@functools.cache
def selftest_result(name: str) -> SandboxProof | None:
    """Return the self-test result of a launcher on this machine; None without a sandbox."""
    launcher = LAUNCHERS[name]()
    with contextlib.closing(launcher):
        if name == "none" or not launcher.available:
            return None
        return prove_sandbox(launcher)


@contextlib.contextmanager
def open_sandbox(name: str) -> Iterator[Sandbox]:
    """Open a sandbox with one launcher; skip the test if this machine does not support it."""
    proof = selftest_result(name)
    if name != "none" and (proof is None or not proof.works):
        pytest.skip(f"this machine offers no {name}")
    with contextlib.closing(Sandbox(LAUNCHERS[name](), proof, allow_unsandboxed=True)) as made:
        yield made


def await_(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner() as runner:
        return runner.run(work)


def run(sandbox: Sandbox, command: str, folder: Path, limits: CommandLimits | None = None) -> FinishedCommand:
    return await_(sandbox.run(CommandRequest(command, folder, limits or CommandLimits(time_s=30))))


class OutputRecorder:
    """Collects the output of a command, and can wait until a given text was printed."""

    def __init__(self) -> None:
        self.output = b""
        self._more = asyncio.Event()

    def __call__(self, piece: bytes) -> None:
        self.output += piece
        self._more.set()

    async def wait_for(self, text: bytes) -> None:
        """Wait until this text was printed."""
        async with asyncio.timeout(20):
            while text not in self.output:
                self._more.clear()
                await self._more.wait()
