"""The sandbox status of this computer, which is shown to the user before the first command runs."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from core.domain.permissions import SandboxLevel
from core.domain.problems import ErrorDetails
from core.tools.tool_context import SANDBOX_PROOF_FILE
from core.workspace.launcher import SandboxPermissions
from core.workspace.sandbox import Sandbox, machine_sandbox
from core.workspace.sandbox_selftest import ATTACK_DESCRIPTIONS
from core.workspace.threads import run_to_completion

INSTALL_COMMANDS = {  # by package manager
    "apt-get": "sudo apt-get install bubblewrap",
    "dnf": "sudo dnf install bubblewrap",
    "zypper": "sudo zypper install bubblewrap",
    "pacman": "sudo pacman -S bubblewrap",
    "apk": "sudo apk add bubblewrap",
}


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """The result of the sandbox self-test.

    `gaps` lists what a sandboxed command can still do. `disabled` explains why commands are disabled or why each one
    needs approval; None if they run normally. `install_command` installs a missing program for a stronger sandbox; ""
    if none is missing, or if the package manager is unknown.
    """

    name: str
    level: SandboxLevel
    gaps: tuple[str, ...] = ()
    disabled: ErrorDetails | None = None
    install_command: str = ""


async def probe_sandbox(data: Path) -> SandboxStatus:
    """Choose and test the sandbox in a thread, so that the first command does not have to wait for the test."""
    return sandbox_status(await run_to_completion(machine_sandbox, data / SANDBOX_PROOF_FILE))


def sandbox_status(sandbox: Sandbox) -> SandboxStatus:
    """Return the status of a sandbox as plain values."""
    disabled = sandbox.disabled_reason(SandboxPermissions())
    known_gaps = sandbox.proof.known_gaps if sandbox.proof else ()
    return SandboxStatus(
        name=sandbox.name,
        level=sandbox.level,
        gaps=tuple(ATTACK_DESCRIPTIONS[gap] for gap in known_gaps),
        disabled=disabled.details if disabled else None,
        install_command="" if sandbox.level == "verified" else install_command(),
    )


def install_command(path: str | None = None) -> str:
    """Return the command that installs bubblewrap; empty if it is installed, or there is no known package manager.

    `path` is where to look for programs, by default the environment variable PATH.
    """
    if sys.platform != "linux" or shutil.which("bwrap", path=path):
        return ""
    return next((command for program, command in INSTALL_COMMANDS.items() if shutil.which(program, path=path)), "")
