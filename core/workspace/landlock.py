"""Confine commands on Linux by Landlock: the second rung, where bubblewrap is missing or not allowed."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from core.domain.consent import Level
from core.domain.problems import Problem
from core.workspace import confine, seccomp, toolchains
from core.workspace.launch import Asked, Launch, clean_environment, limited
from core.workspace.scratch import Scratch

SCRIPT = Path(confine.__file__)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
# No process, not even its own: their environments lie beside, and Landlock cannot tell them apart.
PROC = tuple(f"/proc/{name}" for name in ("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "sys"))
ROOTS = {"PYENV_ROOT": ".pyenv", "CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "NVM_DIR": ".nvm"}


class Landlock:
    """It cannot hide a part of what it allows: protected and secret files of the workspace stay open to commands."""

    name = "landlock"
    level: Level = "reduced"

    def __init__(
        self, readable: tuple[Path, ...] | None = None, weaken: Callable[[list[str]], list[str]] | None = None
    ) -> None:
        self._version = confine.version() if sys.platform == "linux" else 0
        self._machine = os.uname().machine
        self._filter = b""
        if self._machine in seccomp.MACHINES:
            self._filter = seccomp.program(self._machine, sockets=False)
        self._scratch = Scratch()
        self._readable = tuple(toolchains.python_parts() if readable is None else readable)
        self._weaken = weaken
        self._home = toolchains.home()

    def close(self) -> None:
        self._scratch.close()

    @property
    def possible(self) -> bool:
        return bool(self._version and self._filter)

    @property
    def profile(self) -> str:
        reads = self._reads()
        return "\n".join([str(self._version), *(self._weaken(reads) if self._weaken else reads), self._filter.hex()])

    def prepare(self, asked: Asked) -> Launch:
        if asked.permit.proxy:
            why = "Landlock can close the network, but not open it for some hosts only."
            raise Problem("No host can be allowed to a command on this machine.", why, "Install bubblewrap.")
        scratch = self._scratch.path
        settings, home = scratch / "gitconfig", scratch / "home"
        home.mkdir(exist_ok=True)
        settings.write_text(toolchains.git_settings(self._home) if self._home else "", encoding="utf-8")
        reads = [*self._reads(), str(settings)]
        order = {
            "reads": self._weaken(reads) if self._weaken else reads,
            "writes": [str(asked.folder), str(home), *(f"/dev/{name}" for name in DEVICES)],
            "filter": self._filter.hex(),
            "folder": str(asked.folder),
            "command": limited(asked),
        }
        environment = clean_environment() | {"HOME": str(home), "TMPDIR": str(home), "GIT_CONFIG_GLOBAL": str(settings)}
        environment["GIT_CONFIG_NOSYSTEM"] = "1"
        for name, place in ROOTS.items():
            if self._home and (self._home / place).is_dir():
                environment.setdefault(name, str(self._home / place))
        words = (sys.executable, "-IS", str(SCRIPT), json.dumps(order))
        return Launch(words, environment, Path("/"), "tree")

    def _reads(self) -> list[str]:
        places = [*toolchains.SYSTEM, *toolchains.MERGED, *PROC, *(f"/etc/{name}" for name in toolchains.ETC)]
        if self._home:
            places += [str(self._home / name) for name in toolchains.HOME]
        return [place for place in (*places, *map(str, self._readable)) if os.path.exists(place)]  # noqa: PTH110 - text
