"""The macOS sandbox with sandbox-exec: a profile for each command, which denies everything by default."""

import functools
import os
from pathlib import Path

from core.domain.permissions import SandboxLevel
from core.domain.problems import Problem
from core.domain.sensitive_paths import READ_ONLY_IN_GIT
from core.domain.trusted_files import READ_ONLY_NAMES
from core.workspace import installation, readable_system
from core.workspace.launcher import CommandRequest, ProcessLaunch, clean_environment, with_limits
from core.workspace.program_search import find_system_program
from core.workspace.unsandboxed import WATCHDOG

SYSTEM = ("/usr", "/bin", "/sbin", "/opt", "/System", "/Library/Developer", "/Library/Apple", "/Library/Java", "/dev")
FILES = ("/private/etc", "/private/var/db/timezone", "/private/var/select", "/Library/Preferences/Logging")
MACH_SERVICES = (
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.trustd",
    "com.apple.trustd.agent",
    "com.apple.bsd.dirhelper",
    "com.apple.coreservices.launchservicesd",
)
UNREADABLE_NAMES = ("credentials.toml", "credentials")


class Seatbelt:
    """Runs commands in the sandbox of macOS, whose rules also protect files that do not exist yet."""

    name = "sandbox-exec"
    level: SandboxLevel = "verified"

    def __init__(self) -> None:
        self._program = find_system_program("sandbox-exec")
        self._home = readable_system.home_folder()

    def close(self) -> None:
        """Do nothing, because the launcher owns no resources."""

    @property
    def available(self) -> bool:
        return bool(self._program)

    @property
    def profile(self) -> str:
        return self.profile_text(CommandRequest("true", Path("/nowhere")))

    def prepare(self, request: CommandRequest) -> ProcessLaunch:
        if request.permit.proxy:
            cause = "The profile can allow a local port, but not a Unix socket."
            raise Problem("Commands cannot be given network access on this machine yet.", cause, "Use fetch instead.")
        return ProcessLaunch(
            argv=(self._program, "-p", self.profile_text(request), *with_limits(request, WATCHDOG)),
            environment=clean_environment() | {"TMPDIR": str(_scratch())},
            folder=request.folder,
            scope="group",
            stdin_is_watchdog=True,
        )

    def profile_text(self, request: CommandRequest) -> str:
        """Return the sandbox profile for a command. If several rules match an access, the last one applies."""
        folder = Path(os.path.realpath(request.folder))
        reads = [*SYSTEM, *FILES, *(str(self._home / name) for name in readable_system.HOME_PATHS if self._home)]
        writes = [str(_scratch())]
        if request.permit.read_only:
            reads.append(str(folder))
        else:
            writes.append(str(folder))
        lines = [
            "(version 1)",
            "(deny default)",
            '(import "system.sb")',
            "(allow process-exec* process-fork)",
            "(allow signal (target same-sandbox))",
            "(allow sysctl-read)",
            f"(allow mach-lookup {' '.join(f'(global-name {_quoted(name)})' for name in MACH_SERVICES)})",
            '(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
            "(allow file-read-metadata)",
            f"(allow file-read* {_subpaths([*reads, *writes])})",
            f"(allow file-write* {_subpaths(writes)})",
            *(f"(deny file-write* {rule})" for rule in _protected(folder, request)),
            *(f"(deny file-write* {_subpaths([str(place)])})" for place in installation.installation_inside(folder)),
            *(f"(deny file-read* (subpath {_quoted(str(folder / name))}))" for name in _hidden(request)),
            *(f"(deny file-read* (regex {_pattern(f'/{name}$')}))" for name in UNREADABLE_NAMES),
            "(deny network*)",
        ]
        return "\n".join(lines)


def _protected(folder: Path, request: CommandRequest) -> list[str]:
    allowed = set(request.permit.protected_paths)
    rules: list[str] = []
    for name in dict.fromkeys([*READ_ONLY_NAMES, *request.protected]):
        is_git = Path(name).name == ".git"
        paths = [f"{name}/{'/'.join(parts)}" for parts in READ_ONLY_IN_GIT] if is_git else [name]
        rules += [f"(subpath {_quoted(str(folder / path))})" for path in paths if not _contains_any(path, allowed)]
        if is_git:
            rules.append(f"(literal {_quoted(str(folder / name))})")  # so that it cannot be moved away and replaced
    return rules


def _contains_any(path: str, allowed: set[str]) -> bool:
    return any(name == path or name.startswith(f"{path}/") for name in allowed)


def _hidden(request: CommandRequest) -> tuple[str, ...]:
    return () if request.permit.secrets else tuple(dict.fromkeys((".env", ".npmrc", ".netrc", *request.hidden)))


def _subpaths(paths: list[str]) -> str:
    return " ".join(f"(subpath {_quoted(path)})" for path in paths)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _pattern(text: str) -> str:
    return '#"' + text.replace(".", "\\.").replace('"', "") + '"'


@functools.cache
def _scratch() -> Path:
    """Return the resolved temporary folder, of which macOS gives each user one."""
    return Path(os.path.realpath(os.environ.get("TMPDIR") or "/private/tmp"))
