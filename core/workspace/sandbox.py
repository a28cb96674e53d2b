"""Chooses the sandbox for commands on this machine: the best launcher that works here."""

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from core.domain.permissions import SandboxLevel
from core.domain.problems import Problem
from core.workspace import active_commands
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.job_object import JobObject
from core.workspace.landlock import Landlock
from core.workspace.launcher import CommandRequest, Launcher, SandboxPermissions
from core.workspace.limit_watch import TickListener
from core.workspace.running_command import FinishedCommand, OutputListener, RunningCommand, start_command
from core.workspace.sandbox_selftest import SandboxProof, prove_sandbox
from core.workspace.seatbelt import Seatbelt
from core.workspace.unsandboxed import Unsandboxed


class SandboxLauncher(Launcher, Protocol):
    """A launcher to choose from: `available` tells whether it may work here, and `close` frees its resources."""

    @property
    def available(self) -> bool: ...

    def close(self) -> None: ...


class Sandbox:
    """Starts commands with one launcher, and refuses them if its self-test failed.

    `allow_unsandboxed`: the user allows all commands to run without a sandbox if the launcher is none.
    """

    def __init__(
        self, launcher: SandboxLauncher, proof: SandboxProof | None, *, allow_unsandboxed: bool = False
    ) -> None:
        self._launcher = launcher
        self.proof = proof
        self._allow_unsandboxed = allow_unsandboxed

    @property
    def name(self) -> str:
        return self._launcher.name

    @property
    def level(self) -> SandboxLevel:
        return self._launcher.level

    def disabled_reason(self, permit: SandboxPermissions) -> Problem | None:
        """Return why commands with these permissions cannot run; None if they can."""
        if self.proof and self.proof.escapes:
            cause = f"In its self-test the sandbox allowed a command to {self.proof.description}."
            fix = "Run `journeyman doctor` and fix the issues that it reports."
            return Problem("Commands are disabled.", cause, fix)
        if self.level == "none" and not (self._allow_unsandboxed or permit.unsandboxed):
            fix = "Install bubblewrap, or allow commands without a sandbox one by one."
            return Problem("Commands are disabled.", "This machine has no sandbox.", fix)
        return None

    def close(self) -> None:
        self._launcher.close()

    async def start(
        self,
        request: CommandRequest,
        on_output: OutputListener | None = None,
        on_tick: TickListener | None = None,
    ) -> RunningCommand:
        """Start a command and return it while it runs; raise Problem if commands are disabled."""
        if (problem := self.disabled_reason(request.permit)) is not None:
            raise problem
        launch = self._launcher.prepare(request)
        if self.level == "verified":
            return await start_command(launch, request.limits, on_output, on_tick)
        number = active_commands.note_start(request.folder)
        try:
            running = await start_command(launch, request.limits, on_output, on_tick)
        except BaseException:
            active_commands.note_end(number)
            raise
        running.when_finished(partial(active_commands.note_end, number))
        return running

    async def run(
        self,
        request: CommandRequest,
        on_output: OutputListener | None = None,
        on_tick: TickListener | None = None,
    ) -> FinishedCommand:
        """Run a command to its end. If canceled, kill all its processes."""
        running = await self.start(request, on_output, on_tick)
        return await running.wait_or_kill()


def system_launchers() -> Sequence[Callable[[], SandboxLauncher]]:
    """Return the constructors of the launchers for this operating system, strongest sandbox first."""
    return {"linux": (Bubblewrap, Landlock), "darwin": (Seatbelt,), "win32": (JobObject,)}.get(sys.platform, ())


def choose_sandbox(
    cache: Path | None = None,
    *,
    allow_unsandboxed: bool = False,
    launchers: Sequence[Callable[[], SandboxLauncher]] | None = None,
) -> Sandbox:
    """Return a sandbox with the first launcher that works on this machine.

    A launcher that works but fails its self-test is chosen nevertheless and then refuses commands, rather than falling
    back to a weaker one. `cache` is a file for the result of the self-test.
    """
    for make in system_launchers() if launchers is None else launchers:
        launcher = make()
        if launcher.available and launcher.level == "none":
            return Sandbox(launcher, None, allow_unsandboxed=allow_unsandboxed)
        if launcher.available and (proof := prove_sandbox(launcher, cache)).works:
            return Sandbox(launcher, proof)
        launcher.close()
    return Sandbox(Unsandboxed(), None, allow_unsandboxed=allow_unsandboxed)


CHOICE_LOCK = threading.Lock()  # prevents concurrent runs from creating two sandboxes
_chosen = functools.cache(choose_sandbox)


def machine_sandbox(cache: Path | None = None) -> Sandbox:
    """Return the sandbox of this machine, which is chosen and tested once per process."""
    with CHOICE_LOCK:
        return _chosen(cache)
