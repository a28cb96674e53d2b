"""Confine commands on macOS by sandbox-exec: a profile that denies by default, written for one command."""

import functools
import os
import shutil
from pathlib import Path

from core.domain.consent import Level
from core.domain.problems import Problem
from core.domain.sensitive import WALLED_IN_GIT, WALLED_NAMES
from core.workspace import toolchains
from core.workspace.launch import Asked, Launch, clean_environment, limited
from core.workspace.plain import GUARD

SYSTEM = ("/usr", "/bin", "/sbin", "/opt", "/System", "/Library/Developer", "/Library/Apple", "/Library/Java", "/dev")
FILES = ("/private/etc", "/private/var/db/timezone", "/private/var/select", "/Library/Preferences/Logging")
MACH = (
    *("com.apple.system.opendirectoryd.libinfo", "com.apple.system.logger", "com.apple.system.notification_center"),
    *(
        "com.apple.trustd",
        "com.apple.trustd.agent",
        "com.apple.bsd.dirhelper",
        "com.apple.coreservices.launchservicesd",
    ),
)
CLOSED = ("credentials.toml", "credentials")


class Seatbelt:
    """The kernel's own sandbox, the one that apps run in; what is protected is closed before it exists."""

    name = "sandbox-exec"
    level: Level = "verified"

    def __init__(self) -> None:
        self._program = shutil.which("sandbox-exec") or ""
        self._home = toolchains.home()

    def close(self) -> None:
        """Nothing is held."""

    @property
    def possible(self) -> bool:
        return bool(self._program)

    @property
    def profile(self) -> str:
        return self.rules(Asked("true", Path("/nowhere")))

    def prepare(self, asked: Asked) -> Launch:
        if asked.permit.proxy:
            why = "The profile can open one port of this machine, not a socket in a folder."
            raise Problem("No host can be allowed to a command on this machine yet.", why, "Fetch the page instead.")
        command = limited(asked, GUARD)
        words = (self._program, "-p", self.rules(asked), *command)
        scratch = {"TMPDIR": str(_scratch())}
        return Launch(words, clean_environment() | scratch, asked.folder, "group", guarded=True)

    def rules(self, asked: Asked) -> str:
        """The profile. Of several rules that fit, the last one holds."""
        folder = Path(os.path.realpath(asked.folder))
        reads = [*SYSTEM, *FILES, *(str(self._home / name) for name in toolchains.HOME if self._home)]
        writes = [str(folder), str(_scratch())]
        lines = [
            "(version 1)",
            "(deny default)",
            '(import "system.sb")',
            "(allow process-exec* process-fork)",
            "(allow signal (target same-sandbox))",
            "(allow sysctl-read)",
            f"(allow mach-lookup {' '.join(f'(global-name {_quoted(name)})' for name in MACH)})",
            '(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
            "(allow file-read-metadata)",
            f"(allow file-read* {_subpaths([*reads, *writes])})",
            f"(allow file-write* {_subpaths(writes)})",
            *(f"(deny file-write* {rule})" for rule in _protected(folder, asked)),
            *(f"(deny file-read* (subpath {_quoted(str(folder / name))}))" for name in _hidden(asked)),
            *(f"(deny file-read* (regex {_pattern(f'/{name}$')}))" for name in CLOSED),
            "(deny network*)",
        ]
        return "\n".join(lines)


def _protected(folder: Path, asked: Asked) -> list[str]:
    allowed = set(asked.permit.protected)
    found = []
    for name in dict.fromkeys([*WALLED_NAMES, *asked.protected]):
        inner = [f"{name}/{'/'.join(part)}" for part in WALLED_IN_GIT] if Path(name).name == ".git" else [name]
        inner = [part for part in inner if not any(each == part or each.startswith(f"{part}/") for each in allowed)]
        found += [f"(subpath {_quoted(str(folder / part))})" for part in inner]
        if Path(name).name == ".git":
            found.append(f"(literal {_quoted(str(folder / name))})")  # or it could be moved away and made anew
    return found


def _hidden(asked: Asked) -> tuple[str, ...]:
    return () if asked.permit.secrets else tuple(dict.fromkeys((".env", ".npmrc", ".netrc", *asked.hidden)))


def _subpaths(places: list[str]) -> str:
    return " ".join(f"(subpath {_quoted(place)})" for place in places)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _pattern(text: str) -> str:
    return '#"' + text.replace(".", "\\.").replace('"', "") + '"'


@functools.cache
def _scratch() -> Path:
    """The person's own temporary folder; macOS gives each of them one."""
    return Path(os.path.realpath(os.environ.get("TMPDIR") or "/private/tmp"))
