"""The sandbox on macOS by sandbox-exec: a profile that denies by default, written for each command."""

import functools
import os
import shutil
from pathlib import Path

from core.domain.permissions import SandboxLevel
from core.domain.problems import Problem
from core.domain.sensitive_paths import READ_ONLY_IN_GIT
from core.domain.trusted_files import READ_ONLY_NAMES
from core.workspace import readable_system
from core.workspace.launcher import CommandRequest, ProcessLaunch, clean_environment, with_limits
from core.workspace.unsandboxed import WATCHDOG

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
    """Runs commands in the sandbox of the kernel. Its rules also cover protected files that do not exist yet."""

    name = "sandbox-exec"
    level: SandboxLevel = "verified"

    def __init__(self) -> None:
        self._program = shutil.which("sandbox-exec") or ""
        self._home = readable_system.home_folder()

    def close(self) -> None:
        """Do nothing: there are no resources."""

    @property
    def available(self) -> bool:
        return bool(self._program)

    @property
    def profile(self) -> str:
        return self.profile_text(CommandRequest("true", Path("/nowhere")))

    def prepare(self, asked: CommandRequest) -> ProcessLaunch:
        if asked.permit.proxy:
            why = "The profile can allow a local port, but not a Unix socket."
            raise Problem("Commands cannot be given network access on this machine yet.", why, "Use fetch instead.")
        command = with_limits(asked, WATCHDOG)
        words = (self._program, "-p", self.profile_text(asked), *command)
        scratch = {"TMPDIR": str(_scratch())}
        return ProcessLaunch(words, clean_environment() | scratch, asked.folder, "group", stdin_is_watchdog=True)

    def profile_text(self, asked: CommandRequest) -> str:
        """Return the profile. If several rules match, the last one applies."""
        folder = Path(os.path.realpath(asked.folder))
        reads = [*SYSTEM, *FILES, *(str(self._home / name) for name in readable_system.HOME_PATHS if self._home)]
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


def _protected(folder: Path, asked: CommandRequest) -> list[str]:
    allowed = set(asked.permit.protected_paths)
    found = []
    for name in dict.fromkeys([*READ_ONLY_NAMES, *asked.protected]):
        inner = [f"{name}/{'/'.join(part)}" for part in READ_ONLY_IN_GIT] if Path(name).name == ".git" else [name]
        inner = [part for part in inner if not any(each == part or each.startswith(f"{part}/") for each in allowed)]
        found += [f"(subpath {_quoted(str(folder / part))})" for part in inner]
        if Path(name).name == ".git":
            found.append(f"(literal {_quoted(str(folder / name))})")  # or it could be moved away and replaced
    return found


def _hidden(asked: CommandRequest) -> tuple[str, ...]:
    return () if asked.permit.secrets else tuple(dict.fromkeys((".env", ".npmrc", ".netrc", *asked.hidden)))


def _subpaths(places: list[str]) -> str:
    return " ".join(f"(subpath {_quoted(place)})" for place in places)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _pattern(text: str) -> str:
    return '#"' + text.replace(".", "\\.").replace('"', "") + '"'


@functools.cache
def _scratch() -> Path:
    """Return the temporary folder of the user; on macOS each user has one."""
    return Path(os.path.realpath(os.environ.get("TMPDIR") or "/private/tmp"))
