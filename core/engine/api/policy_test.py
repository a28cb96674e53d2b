"""Tests a command against the permission policy without running it, as for a call in a new session."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.domain.modes import Mode
from core.domain.permissions import PolicyDecision, canonical_json
from core.domain.problems import Problem
from core.engine.policy.folder_inspection import (
    has_plain_git,
    inner_links,
    leads_outside,
    matching_files,
    outside_links,
    searches_folder,
    secret_files,
)
from core.engine.policy.policy import PolicyContext, evaluate_call
from core.engine.policy.proposed_call import ProposedCall
from core.engine.policy.rule_input import rules_in_folder
from core.engine.services.sandbox_status import SandboxStatus, probe_sandbox
from core.store.rule_store import LoadedRules
from core.workspace.threads import run_to_completion


@dataclass(frozen=True, slots=True)
class PolicyTest:
    """The decision on a tested command, with the folder and sandbox that were assumed."""

    decision: PolicyDecision
    folder: str
    sandbox: SandboxStatus


async def check_command(command: str, folder: Path, mode: Mode, rules: LoadedRules, data: Path) -> PolicyTest:
    """Decide about a command in a folder, without running it."""
    if not command.strip():
        raise Problem("There is no command to test.", "", "Give one: journeyman rules test 'git push'")
    workspace = _resolved(folder)
    sandbox = await probe_sandbox(data)
    context = PolicyContext(
        session="",
        run="",
        workspace=str(workspace),
        data_dir=str(_resolved(data)),
        level=sandbox.level,
        expand=partial(matching_files, workspace),
        secret_files=partial(secret_files, workspace),
        leads_outside=partial(leads_outside, workspace),
        outside_links=partial(outside_links, workspace),
        inner_links=partial(inner_links, workspace),
        searches_folder=partial(searches_folder, workspace),
        plain_git=partial(has_plain_git, workspace),
    )
    call = ProposedCall(
        call_id="",
        tool="run",
        object=command,
        access="execute",
        arguments=canonical_json({"command": command}),
        subjects=(command,),
    )
    in_folder = None if rules.rules is None else rules_in_folder(rules.rules, str(workspace))
    decision = await run_to_completion(partial(evaluate_call, call, mode, in_folder, (), context))
    return PolicyTest(decision, str(workspace), sandbox)


def _resolved(folder: Path) -> Path:
    """Return the folder with its links resolved. Raise Problem if it does not exist."""
    if not folder.is_dir():
        raise Problem(f"There is no folder {folder}.", "", "Name an existing folder.")
    return folder.resolve()
