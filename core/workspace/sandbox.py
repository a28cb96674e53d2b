"""The walls around commands on this machine: the best rung that proves itself, and its level for everyone to see."""

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from core.domain.consent import Level
from core.domain.problems import Problem
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.jobobject import JobObject
from core.workspace.landlock import Landlock
from core.workspace.launch import Asked, Launcher, Permit
from core.workspace.plain import Plain
from core.workspace.process import Finished, Hear, Running, begin
from core.workspace.seatbelt import Seatbelt
from core.workspace.selftest import Proof, prove


class Rung(Launcher, Protocol):
    """A launcher as the ladder sees it: whether it could work here, and how to let go of it."""

    @property
    def possible(self) -> bool: ...

    def close(self) -> None: ...


class Sandbox:
    """Starts commands by one launcher. `unconfined` is a person's word, where there are no walls."""

    def __init__(self, launcher: Rung, proof: Proof | None, *, unconfined: bool = False) -> None:
        self._launcher = launcher
        self.proof = proof
        self._unconfined = unconfined

    @property
    def name(self) -> str:
        return self._launcher.name

    @property
    def level(self) -> Level:
        return self._launcher.level

    def off(self, permit: Permit) -> Problem | None:
        """Why no command runs; None when commands run."""
        if self.proof and self.proof.open:
            what, why = "Commands are off.", f"In its test the sandbox let a command {self.proof.words}."
            return Problem(what, why, "Run `journeyman doctor`, and mend what it names.")
        if self.level == "none" and not (self._unconfined or permit.unconfined):
            why, do = (
                "This machine offers no sandbox.",
                "Install bubblewrap, or allow commands without walls one by one.",
            )
            return Problem("Commands are off.", why, do)
        return None

    def close(self) -> None:
        self._launcher.close()

    async def start(self, asked: Asked, hear: Hear | None = None, watch: Callable[[], None] | None = None) -> Running:
        """Start a command; it goes on until it ends or is ended."""
        if (off := self.off(asked.permit)) is not None:
            raise off
        return await begin(self._launcher.prepare(asked), asked.limits, hear, watch)

    async def run(self, asked: Asked, hear: Hear | None = None, watch: Callable[[], None] | None = None) -> Finished:
        """Run a command to its end. Cancelling kills all it started."""
        running = await self.start(asked, hear, watch)
        return await running.until_end()


def rungs() -> Sequence[Callable[[], Rung]]:
    """The ladder of this system, best first."""
    return {"linux": (Bubblewrap, Landlock), "darwin": (Seatbelt,), "win32": (JobObject,)}.get(sys.platform, ())


def choose(
    cache: Path | None = None, *, unconfined: bool = False, ladder: Sequence[Callable[[], Rung]] | None = None
) -> Sandbox:
    """The first rung that works. One that works and leaks is not passed over in silence: commands are off then."""
    for make in rungs() if ladder is None else ladder:
        launcher = make()
        if launcher.possible and launcher.level == "none":
            return Sandbox(launcher, None, unconfined=unconfined)
        if launcher.possible and (proof := prove(launcher, cache)).works:
            return Sandbox(launcher, proof)
        launcher.close()
    return Sandbox(Plain(), None, unconfined=unconfined)


CHOOSING = threading.Lock()  # runs that want the walls at the same moment must not make two sandboxes
_chosen = functools.cache(choose)


def of_this_machine(cache: Path | None = None) -> Sandbox:
    """Chosen and proven once for a process: what the machine offers does not change under it."""
    with CHOOSING:
        return _chosen(cache)
