"""The sandbox on Linux by Landlock, used if bubblewrap is not installed or not permitted."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from core.domain.permissions import SandboxLevel
from core.domain.problems import Problem
from core.workspace import confine, readable_system, seccomp_filter
from core.workspace.launcher import CommandRequest, ProcessLaunch, clean_environment, with_limits
from core.workspace.scratch_folder import ScratchFolder

SCRIPT = Path(confine.__file__)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
# No process, not even its own: their environments are in the same folder, and Landlock cannot separate them.
PROC = tuple(f"/proc/{name}" for name in ("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "sys"))
ROOTS = {"PYENV_ROOT": ".pyenv", "CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "NVM_DIR": ".nvm"}


class Landlock:
    """Runs commands under Landlock, which cannot exclude protected files or secrets of the workspace from its rules."""

    name = "landlock"
    level: SandboxLevel = "reduced"

    def __init__(
        self, readable: tuple[Path, ...] | None = None, weaken: Callable[[list[str]], list[str]] | None = None
    ) -> None:
        self._version = confine.version() if sys.platform == "linux" else 0
        self._machine = os.uname().machine
        self._filter = b""
        if self._machine in seccomp_filter.MACHINES:
            self._filter = seccomp_filter.filter_program(self._machine, sockets=False)
        self._scratch = ScratchFolder()
        self._readable = tuple(readable_system.interpreter_folders() if readable is None else readable)
        self._weaken = weaken
        self._home = readable_system.home_folder()

    def close(self) -> None:
        self._scratch.close()

    @property
    def available(self) -> bool:
        return bool(self._version and self._filter)

    @property
    def profile(self) -> str:
        reads = self._reads()
        return "\n".join([str(self._version), *(self._weaken(reads) if self._weaken else reads), self._filter.hex()])

    def prepare(self, asked: CommandRequest) -> ProcessLaunch:
        if asked.permit.proxy:
            why = "Landlock can block the network, but not allow single hosts."
            raise Problem("Commands cannot be given network access on this machine.", why, "Install bubblewrap.")
        scratch = self._scratch.path
        settings, home = scratch / "gitconfig", scratch / "home"
        home.mkdir(exist_ok=True)
        settings.write_text(readable_system.public_git_config(self._home) if self._home else "", encoding="utf-8")
        reads = [*self._reads(), str(settings)]
        order = {
            "reads": self._weaken(reads) if self._weaken else reads,
            "writes": [str(asked.folder), str(home), *(f"/dev/{name}" for name in DEVICES)],
            "filter": self._filter.hex(),
            "folder": str(asked.folder),
            "command": with_limits(asked),
        }
        environment = clean_environment() | {"HOME": str(home), "TMPDIR": str(home), "GIT_CONFIG_GLOBAL": str(settings)}
        environment["GIT_CONFIG_NOSYSTEM"] = "1"
        for name, place in ROOTS.items():
            if self._home and (self._home / place).is_dir():
                environment.setdefault(name, str(self._home / place))
        words = (sys.executable, "-IS", str(SCRIPT), json.dumps(order))
        return ProcessLaunch(words, environment, Path("/"), "tree")

    def _reads(self) -> list[str]:
        places = [
            *readable_system.SYSTEM_FOLDERS,
            *readable_system.MERGED_FOLDERS,
            *PROC,
            *(f"/etc/{name}" for name in readable_system.ETC_NAMES),
        ]
        if self._home:
            places += [str(self._home / name) for name in readable_system.HOME_PATHS]
        return [place for place in (*places, *map(str, self._readable)) if os.path.exists(place)]  # noqa: PTH110 - text
