"""The interface of sandbox launchers: a command with its limits and permissions, and the process to start for it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from core.domain.permissions import SandboxLevel
from core.workspace.program_search import command_path

# The set of processes that ends with the command's first process: its PID namespace, its descendants, its process
# group, or its job object.
ProcessScope = Literal["namespace", "tree", "group", "job"]

PASSED_VARIABLES = (
    *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SHELL", "SYSTEMROOT"),
    *("LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_MONETARY"),
    *("PYENV_ROOT", "PYENV_VERSION", "NVM_DIR", "NVM_BIN", "VOLTA_HOME", "BUN_INSTALL", "ASDF_DIR", "ASDF_DATA_DIR"),
    *("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "GOROOT", "GOPATH", "JAVA_HOME", "SDKMAN_DIR", "DOTNET_ROOT"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS"),
    *("PIP_FIND_LINKS", "PIP_CERT", "PIP_DISABLE_PIP_VERSION_CHECK", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"),
)


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """The limits of a command. Memory counts what is used, not what is reserved: some runtimes reserve very much."""

    time_s: float = 120.0
    output: int = 64 << 20
    memory: int = 8 << 30
    processes: int = 512
    file_size: int = 8 << 30
    files: int = 4096
    scratch: int = 2 << 30  # bytes of /tmp, and of the home folder


@dataclass(frozen=True, slots=True)
class SandboxPermissions:
    """What the user allowed a command beyond the default.

    Attributes:
        secrets: it may read files with secrets.
        unsandboxed: it may run without a sandbox if the machine has none.
        protected_paths: protected paths that it may change.
        proxy: the socket through which it reaches the allowed hosts.
        read_only: it may change nothing in its folder.
    """

    secrets: bool = False
    unsandboxed: bool = False
    protected_paths: tuple[str, ...] = ()
    proxy: Path | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A command, its folder, and the protected and hidden paths found in that folder, relative to it.

    If `argv` is set, it is run without a shell, and `command` is only its text. `loses_history` is whether the user
    allowed it to delete the history of repositories.
    """

    command: str
    folder: Path
    limits: CommandLimits = CommandLimits()
    permit: SandboxPermissions = SandboxPermissions()
    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    loses_history: bool = False


class StartedProcess(Protocol):
    """A child process, as `subprocess.Popen` has it."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def wait(self) -> int: ...


ProcessFork = Callable[[Mapping[str, str], int, int], StartedProcess]  # given its environment, input and output


@dataclass(frozen=True, slots=True)
class ProcessLaunch:
    """A process that is ready to be started. The caller that starts it passes the descriptors on and closes them."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    scope: ProcessScope
    descriptors: tuple[int, ...] = ()
    stdin_is_watchdog: bool = False  # standard input is a pipe that is closed when Journeyman dies
    stdin_data: bytes | None = None  # the contents of standard input, unless stdin_is_watchdog
    home: Path | None = None  # a folder for this command only: limited by `limits.scratch`, deleted when it ends
    fork: ProcessFork | None = None  # starts the same process faster; it is not given a folder or descriptors
    info_fd: int = -1  # the pipe on which bubblewrap writes the pid of the first process in its namespace


class Launcher(Protocol):
    """One kind of sandbox on one system."""

    @property
    def name(self) -> str: ...

    @property
    def level(self) -> SandboxLevel: ...

    @property
    def profile(self) -> str:
        """Everything that determines the security of the sandbox, as text. A changed profile must be tested again."""

    def prepare(self, request: CommandRequest) -> ProcessLaunch: ...


def clean_environment() -> dict[str, str]:
    """Return our environment without secrets and settings, for commands."""
    passed = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    return passed | {"PATH": command_path(), "TERM": "dumb"}


def with_limits(request: CommandRequest, before: str = "") -> tuple[str, ...]:
    """Return a shell that sets limits and executes the command. Set here, they would count Journeyman's processes."""
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
