"""Shortcuts for evaluating calls against the permission policy in tests."""

import json
from collections.abc import Sequence
from typing import Any

from core.domain.modes import Mode
from core.domain.permissions import PolicyDecision
from core.domain.rules import PermissionRule, new_rule
from core.engine.policy.policy import PolicyContext, evaluate_call
from core.engine.policy.proposed_call import ProposedCall, propose_call
from core.tools.catalogue import TOOLS, read_arguments

FACTS = PolicyContext(
    "s", "s/1", "/home/ada/letters", "/home/ada/.local/share/journeyman", "verified", posix_shell=True
)


def act(tool: str, **arguments: Any) -> ProposedCall:
    return propose_call(TOOLS[tool], read_arguments(tool, json.dumps(arguments)), "r1c1")


def rule(
    pattern: str, effect: str = "allow", tool: str = "run", subject: str = "command", **more: Any
) -> PermissionRule:
    more = {"scope": "folder", "scope_id": FACTS.workspace, **more}
    return new_rule(f"id-{pattern}", effect, tool, subject, pattern, **more)  # type: ignore[arg-type]


def verdict(
    call: ProposedCall,
    *rules: PermissionRule,
    mode: Mode = "ask",
    taint: Sequence[str] = (),
    facts: PolicyContext = FACTS,
) -> PolicyDecision:
    return evaluate_call(call, mode, rules, taint, facts)
