"""What a command asks for, and how a launcher answers: a ready line of words, an environment, and how to end it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from core.domain.consent import Level

# Who dies with the first process: all in its namespace, what descends from it, what stayed in its group, its job.
Ending = Literal["namespace", "tree", "group", "job"]

PASSED = (
    *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SHELL", "SYSTEMROOT"),
    *("LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_MONETARY"),
    *("PYENV_ROOT", "PYENV_VERSION", "NVM_DIR", "NVM_BIN", "VOLTA_HOME", "BUN_INSTALL", "ASDF_DIR", "ASDF_DATA_DIR"),
    *("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "GOROOT", "GOPATH", "JAVA_HOME", "SDKMAN_DIR", "DOTNET_ROOT"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS"),
    *("PIP_FIND_LINKS", "PIP_CERT", "PIP_DISABLE_PIP_VERSION_CHECK", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"),
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a command is stopped. Memory is what is used, not what is reserved: runtimes reserve without measure."""

    time_s: float = 120.0
    output: int = 64 << 20
    memory: int = 8 << 30
    processes: int = 512
    file_size: int = 8 << 30
    files: int = 4096
    scratch: int = 2 << 30  # of /tmp, and of the home


@dataclass(frozen=True, slots=True)
class Permit:
    """What a person allowed beyond the least. `proxy` is the socket through which allowed hosts are reached.

    `unconfined` is the word that a command may run where the machine offers no walls.
    """

    secrets: bool = False
    unconfined: bool = False
    protected: tuple[str, ...] = ()
    proxy: Path | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A command, where it runs, and what is guarded in that folder: found paths, relative to it.

    With `argv` it is these words, and no shell reads them; `command` is then only their spelling.
    """

    command: str
    folder: Path
    limits: Limits = Limits()
    permit: Permit = Permit()
    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """Ready to start. The descriptors are passed on and belong to whoever starts it."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    ending: Ending
    descriptors: tuple[int, ...] = ()
    guarded: bool = False  # whether its standard input is the pipe by which it notices our end
    given: bytes | None = None  # what its standard input holds instead
    told: int = -1  # where the launcher tells the number of the first process of its namespace; to be closed


class Launcher(Protocol):
    """One way to confine commands on one system."""

    @property
    def name(self) -> str: ...

    @property
    def level(self) -> Level: ...

    @property
    def profile(self) -> str:
        """All that decides how tight it is, as text: another profile needs another proof."""

    def prepare(self, asked: Asked) -> Launch: ...


def clean_environment() -> dict[str, str]:
    """What a command may know of ours: no keys, no settings."""
    return {name: os.environ[name] for name in PASSED if name in os.environ} | {"TERM": "dumb"}


def limited(asked: Asked, before: str = "") -> tuple[str, ...]:
    """A shell that sets its own limits, then is the command. Set further out, they would count our processes too."""
    limits = asked.limits
    lines = (
        "ulimit -c 0",
        f"ulimit -f {limits.file_size // 512}",
        f"ulimit -n {limits.files}",
        f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes} 2>/dev/null",
        "{ echo 800 > /proc/self/oom_score_adj; } 2>/dev/null",
        'exec "$0" "$@"' if asked.argv else 'exec /bin/sh -c "$0"',
    )
    return ("/bin/sh", "-c", before + "; ".join(lines), *(asked.argv or (asked.command,)))
