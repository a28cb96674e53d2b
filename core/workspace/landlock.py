"""The Landlock sandbox on Linux, for systems where bubblewrap is not installed or not permitted."""

import contextlib
import functools
import hashlib
import os
import py_compile
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from core.domain.permissions import SandboxLevel
from core.domain.problems import Problem
from core.workspace import confine, installation, readable_system, seccomp_filter
from core.workspace.fork_server import ForkServer
from core.workspace.launcher import CommandRequest, ProcessLaunch, clean_environment, with_limits
from core.workspace.public_git_config import public_git_config
from core.workspace.scratch_folder import ScratchFolder

SCRIPT = Path(confine.__file__)
DEVICES = ("null", "zero", "full", "random", "urandom")
# Only with private namespaces; otherwise they would be shared with other programs.
PRIVATE_DEVICES = ("tty", "ptmx", "pts", "shm")
# No /proc/PID folders, not even of the command: Landlock cannot separate readable files in them from environments.
PROC = tuple(f"/proc/{name}" for name in ("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "sys"))
ROOTS = {"PYENV_ROOT": ".pyenv", "CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "NVM_DIR": ".nvm"}
TRY_S = 10.0


class Landlock:
    """Runs commands under Landlock, whose rules cannot exclude protected files or secrets inside the workspace.

    For tests, `version` limits the version of the Landlock ABI, `without_namespaces` disables private devices, and
    `weaken` adds readable paths to show that the self-test detects a weak sandbox.
    """

    name = "landlock"
    level: SandboxLevel = "reduced"

    def __init__(
        self,
        readable: tuple[Path, ...] | None = None,
        weaken: Callable[[list[str]], list[str]] | None = None,
        *,
        version: int | None = None,
        without_namespaces: bool = False,
    ) -> None:
        self._version = confine.version() if sys.platform == "linux" else 0
        if version is not None:
            self._version = min(self._version, version)
        self._machine = os.uname().machine
        self._filter = b""
        self._supervised = ""
        if self._machine in seccomp_filter.MACHINES:
            self._filter = seccomp_filter.landlock_filter(self._machine, self._version)
            calls = seccomp_filter.supervised_calls(self._machine, self._version)
            self._supervised = ",".join(f"{number}={name}" for number, name in calls.items())
        self._scratch = ScratchFolder()
        self._readable = tuple(installation.interpreter_folders() if readable is None else readable)
        self._weaken = weaken
        self._without_namespaces = without_namespaces
        self._home = readable_system.home_folder()

    def close(self) -> None:
        if "_server" in self.__dict__:
            self._server.close()
        self._scratch.close()

    @property
    def available(self) -> bool:
        return bool(self._version and self._filter)

    @property
    def profile(self) -> str:
        script = hashlib.sha256(SCRIPT.read_bytes()).hexdigest()
        reads = self._weaken(self._reads()) if self._weaken else self._reads()
        filters = (self._filter.hex(), self._supervised)
        return "\n".join([str(self._version), *reads, *filters, str(self._private_devices), script])

    def prepare(self, request: CommandRequest) -> ProcessLaunch:
        if request.permit.proxy:
            cause = "Landlock can block the network, but not allow single hosts."
            raise Problem("Commands cannot be given network access on this machine.", cause, "Install bubblewrap.")
        if not request.permit.read_only and (places := installation.installation_inside(request.folder)):
            cause = f"It contains Journeyman itself in {places[0]}, which the command could change."
            fix = "Install Journeyman elsewhere, for example with pipx, or install bubblewrap."
            raise Problem(f"No command can run in {request.folder}.", cause, fix)
        home = Path(tempfile.mkdtemp(prefix="home-", dir=self._scratch.path))
        settings = public_git_config(self._home) if self._home else ""
        (home / ".gitconfig").write_text(settings, encoding="utf-8")
        reads = self._weaken(self._reads()) if self._weaken else self._reads()
        devices = (*DEVICES, *(PRIVATE_DEVICES if self._private_devices else ()))
        writes = [str(home), *(f"/dev/{name}" for name in devices)]
        if request.permit.read_only:
            reads.append(str(request.folder))
        else:
            writes.append(str(request.folder))
        shared_bytes = request.limits.scratch if self._private_devices else 0
        order = (str(self._version), str(shared_bytes), self._supervised, self._filter.hex(), str(request.folder))
        arguments = (*order, str(len(reads)), str(len(writes)), *reads, *writes, *with_limits(request))
        environment = clean_environment() | {"HOME": str(home), "TMPDIR": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
        for name, folder in ROOTS.items():
            if self._home and (self._home / folder).is_dir():
                environment.setdefault(name, str(self._home / folder))
        return ProcessLaunch(
            argv=(*self._launcher, *arguments),
            environment=environment,
            folder=Path("/"),
            scope="tree",
            home=home,
            fork=functools.partial(self._server.fork, arguments),
        )

    @functools.cached_property
    def _server(self) -> ForkServer:
        return ForkServer((*self._launcher, "serve"))

    @functools.cached_property
    def _launcher(self) -> tuple[str, ...]:
        """The command line that runs the sandbox script, compiled because Python does not cache compiled scripts."""
        compiled = self._scratch.path / "confine.pyc"
        py_compile.compile(str(SCRIPT), str(compiled), doraise=True)
        return (sys.executable, "-IS", str(compiled))

    @functools.cached_property
    def _private_devices(self) -> bool:
        """Whether commands get private terminals and shared memory, which needs permission to create namespaces."""
        return not self._without_namespaces and _can_create_devices()

    def _reads(self) -> list[str]:
        paths = [
            *readable_system.SYSTEM_FOLDERS,
            *readable_system.MERGED_FOLDERS,
            *PROC,
            *(f"/etc/{name}" for name in readable_system.ETC_NAMES),
        ]
        if self._home:
            paths += [str(self._home / name) for name in readable_system.HOME_PATHS]
        return [path for path in (*paths, *map(str, self._readable)) if os.path.exists(path)]  # noqa: PTH110 - text


@functools.cache
def _can_create_devices() -> bool:
    """Return whether this system permits private devices, by trying once per process."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = (sys.executable, "-IS", str(SCRIPT), "try")
        completed = subprocess.run(command, env=clean_environment(), capture_output=True, timeout=TRY_S, check=False)
        return completed.returncode == 0
    return False
