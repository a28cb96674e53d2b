"""The sandbox status of this computer, which is shown to the user before the first command runs."""

from dataclasses import dataclass
from pathlib import Path

from core.domain.permissions import SandboxLevel
from core.domain.problems import ErrorDetails
from core.tools.tool_context import SANDBOX_PROOF_FILE
from core.workspace.launcher import SandboxPermissions
from core.workspace.sandbox import Sandbox, machine_sandbox
from core.workspace.sandbox_selftest import ATTACK_DESCRIPTIONS
from core.workspace.threads import run_to_completion


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """The result of the sandbox self-test.

    `gaps` lists what a sandboxed command can still do. `disabled` explains why commands are disabled, or why each one
    needs approval; it is None if commands run normally.
    """

    name: str
    level: SandboxLevel
    gaps: tuple[str, ...] = ()
    disabled: ErrorDetails | None = None


async def probe_sandbox(data: Path) -> SandboxStatus:
    """Choose and test the sandbox in a thread, so that the first command does not have to wait for the test."""
    return sandbox_status(await run_to_completion(machine_sandbox, data / SANDBOX_PROOF_FILE))


def sandbox_status(sandbox: Sandbox) -> SandboxStatus:
    """Return the status of a sandbox as plain values."""
    disabled, proof = sandbox.disabled_reason(SandboxPermissions()), sandbox.proof
    gaps = tuple(ATTACK_DESCRIPTIONS[name] for name in proof.known_gaps) if proof else ()
    return SandboxStatus(sandbox.name, sandbox.level, gaps, disabled.details if disabled else None)
