"""Checks permission rules that the user enters as a tool, an effect and a pattern."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from core.domain.problems import Problem
from core.domain.rules import ANY, PermissionRule, RuleDraft, new_rule
from core.engine.policy.proposed_call import RULE_SUBJECTS
from core.store.rule_store import new_rule_id
from core.tools.catalogue import TOOLS, tool_named
from core.tools.mcp_tools import mcp_server_of
from core.workspace.paths import check_workspace


def rule_tools() -> tuple[str, ...]:
    """Return the built-in tools that a rule can name. Tools that access nothing are omitted: they need no rule."""
    return tuple(name for name, tool in TOOLS.items() if tool.access != "none")


def rule_from_draft(
    draft: RuleDraft, created_at: int, author: str = "user", new_id: Callable[[], str] = new_rule_id
) -> PermissionRule:
    """Convert the user's input to a rule. Raise Problem if the tool does not exist or the rule must not be saved."""
    name = draft.tool.strip()
    pattern = draft.pattern.strip()
    tool = None if name == ANY else tool_named(name)
    if name != ANY and tool is None:
        tools = f"The tools are: {', '.join(rule_tools())}, or * for any tool."
        raise Problem(f"There is no tool {name!r}.", "", tools)
    subject = RULE_SUBJECTS[tool.access] if tool else "none"
    if tool and not pattern:
        pattern = mcp_server_of(tool.name)  # an MCP tool contacts only its own server
    if subject == "none" and (pattern or draft.effect == "allow"):
        if tool:
            reason = f"{name} affects nothing outside the session, so it is always allowed and has no pattern."
            reason = f"{reason[0].upper()}{reason[1:]}"
        elif pattern:
            reason = "A rule with a pattern has to name a tool."
        else:
            reason = "A rule for any tool can only ask or deny."
        raise Problem("The rule cannot be saved.", reason, "Choose one of the tools.")
    return new_rule(
        new_id(),
        draft.effect,
        tool.name if tool else ANY,
        subject,
        pattern,
        scope=draft.scope,
        scope_id=_folder(draft.scope_id) if draft.scope == "folder" else draft.scope_id,
        author=author,
        created_at=created_at,
    )


def _folder(text: str) -> str:
    """Return the absolute path of the folder that the user entered, in the same form as sessions store it."""
    if not text.strip():
        raise Problem("The rule names no folder.", "", "Choose a folder, or let the rule apply everywhere.")
    return str(check_workspace(Path(text.strip())))


def rules_in_folder(rules: Sequence[PermissionRule], folder: str) -> tuple[PermissionRule, ...]:
    """Return the rules with `folder` as scope of all *deny* and *ask* rules that name it by another path.

    So these rules also apply to a session that works in the folder through a symbolic link.
    """
    if not any(map(_limits_folder, rules)):  # Avoid resolving the path, which would be slow for each call.
        return tuple(rules)
    path = os.path.realpath(folder)
    return tuple(
        replace(rule, scope_id=folder) if _limits_folder(rule) and os.path.realpath(rule.scope_id) == path else rule
        for rule in rules
    )


def _limits_folder(rule: PermissionRule) -> bool:
    return rule.scope == "folder" and rule.effect != "allow"
