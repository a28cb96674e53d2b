"""The interface of sandboxes: a launcher turns a command with its limits and permissions into a process to start."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from core.domain.permissions import SandboxLevel
from core.domain.redact import Redactor
from core.workspace.mount_watch import WatchedMount
from core.workspace.program_search import command_path

# Which processes are killed together with the command's first process: those in its PID namespace, all its descendants,
# its process group, or its Windows job object.
ProcessScope = Literal["namespace", "tree", "group", "job"]

PASSED_VARIABLES = (
    *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SHELL", "SYSTEMROOT"),
    *("LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_MONETARY"),
    *("PYENV_ROOT", "PYENV_VERSION", "NVM_DIR", "NVM_BIN", "VOLTA_HOME", "BUN_INSTALL", "ASDF_DIR", "ASDF_DATA_DIR"),
    *("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "GOROOT", "GOPATH", "JAVA_HOME", "SDKMAN_DIR", "DOTNET_ROOT"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS"),
    *("PIP_FIND_LINKS", "PIP_CERT", "PIP_DISABLE_PIP_VERSION_CHECK", "VIRTUAL_ENV"),
)


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """The limits of a command, in bytes unless named otherwise.

    `memory` counts used rather than reserved memory, because some runtimes reserve far more than they use.
    """

    time_s: float = 120.0
    output: int = 64 << 20
    memory: int = 8 << 30
    processes: int = 512
    file_size: int = 8 << 30
    files: int = 4096
    scratch: int = 2 << 30  # bytes in each temporary file system: /tmp, /dev/shm and the home folder


@dataclass(frozen=True, slots=True)
class SandboxPermissions:
    """What the user allowed a command beyond the default.

    Attributes:
        secrets: the command may read files with secrets.
        unsandboxed: the command may run without a sandbox if the machine has none.
        protected_paths: protected paths that the command may change.
        proxy: the socket of the proxy through which the command reaches allowed hosts; None for no network.
        read_only: the command may not change its folder.
    """

    secrets: bool = False
    unsandboxed: bool = False
    protected_paths: tuple[str, ...] = ()
    proxy: Path | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A command to run in a folder, with the protected and hidden paths in that folder, relative to it.

    With `argv`, the command runs without a shell, and `command` is only for display. `loses_history`: the user allowed
    it to delete git history. `sets_upstream`: git may write the upstream of a branch to its settings; a caller that
    sets this must revert other changes to them.
    """

    command: str
    folder: Path
    limits: CommandLimits = CommandLimits()
    permit: SandboxPermissions = SandboxPermissions()
    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    loses_history: bool = False
    sets_upstream: bool = False


class StartedProcess(Protocol):
    """A child process with the interface of `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def wait(self) -> int: ...


# Starts a process, given its environment, standard input, and output.
ProcessFork = Callable[[Mapping[str, str], int, int], StartedProcess]


@dataclass(frozen=True, slots=True)
class ProcessLaunch:
    """How to start the process of a command. The caller must pass on `descriptors` and then close them."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    scope: ProcessScope
    descriptors: tuple[int, ...] = ()
    stdin_is_watchdog: bool = False  # standard input is a pipe whose end shows the command that Journeyman died
    stdin_data: bytes | None = None  # the contents of standard input, unless stdin_is_watchdog
    # A home folder for this command only, limited to `limits.scratch` bytes and deleted afterwards.
    home: Path | None = None
    fork: ProcessFork | None = None  # a faster way to start the same process, without `folder` and `descriptors`
    info_fd: int = -1  # pipe on which bubblewrap reports the pid of its child, -1 for none
    mounts: tuple[WatchedMount, ...] = ()  # the command is killed when one of these mounts is lost


class Launcher(Protocol):
    """A kind of sandbox: `prepare` returns how to start a command in it, or raises Problem."""

    @property
    def name(self) -> str: ...

    @property
    def level(self) -> SandboxLevel: ...

    @property
    def profile(self) -> str:
        """A text of everything that affects the security of the sandbox; when it changes, the self-test runs again."""

    def prepare(self, request: CommandRequest) -> ProcessLaunch: ...


def clean_environment() -> dict[str, str]:
    """Return the environment for commands: harmless variables of this process, without secrets and settings.

    Python takes cached bytecode for a source file of the same size and the same second, which an agent can write twice,
    so commands write no bytecode.
    """
    passed = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    redactor = Redactor()
    # An address, such as that of a private package index, may contain a password.
    passed = {name: value for name, value in passed.items() if "://" not in value or not redactor.findings(value)}
    return passed | {"PATH": command_path(), "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}


def with_limits(request: CommandRequest, before: str = "") -> tuple[str, ...]:
    """Return a shell command line that sets the limits in the new process and then executes the command.

    The shell code `before` runs first. Set in this process, `ulimit -u` would also count Journeyman's processes.
    """
    limits = request.limits
    lines = (
        "ulimit -c 0",
        f"ulimit -f {limits.file_size // 512}",
        f"ulimit -n {limits.files}",
        f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes} 2>/dev/null",
        "{ echo 800 > /proc/self/oom_score_adj; } 2>/dev/null",
        'exec "$0" "$@"' if request.argv else 'exec /bin/sh -c "$0"',
    )
    return ("/bin/sh", "-c", before + "; ".join(lines), *(request.argv or (request.command,)))
