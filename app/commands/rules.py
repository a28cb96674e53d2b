"""The command `rules`: lists, tests, adds and removes permission rules."""

import dataclasses
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE, FAILED
from app.process.output import iso_time
from core.domain.clock import SECOND
from core.domain.modes import DEFAULT_MODE, Mode
from core.domain.permissions import Allowed, Denied, NeedsApproval, PolicyDecision, canonical_json
from core.domain.problems import Problem
from core.domain.rules import PermissionRule
from core.engine.policy.policy import PolicyContext, ProposedCall, evaluate_call
from core.engine.policy.secret_files import matching_files, secret_files


async def rules(context: Invocation) -> int:
    if context.args.action == "test":
        args = context.args
        return await print_decision(context, args.command_line, context.folder / args.folder, args.mode)
    if context.args.action == "revoke":
        description = await context.rules.revoke(context.args.rule)
        context.out.write(f"Revoked: {description}")
        return DONE
    rule_set = context.rules.read()
    if rule_set.rules is None:
        assert rule_set.error is not None
        context.out.print_error(rule_set.error)
        return FAILED
    if not rule_set.rules and not context.args.json:
        context.out.write("No saved rules.")
    for rule in rule_set.rules:
        if context.args.json:
            context.out.write_json(dataclasses.asdict(rule) | {"created_at": iso_time(rule.created_at)})
        else:
            context.out.write(_rule_line(rule))
    return DONE


def _rule_line(rule: PermissionRule) -> str:
    date = datetime.fromtimestamp(rule.created_at / SECOND).astimezone().strftime("%Y-%m-%d")
    scope = {"always": "everywhere", "folder": rule.scope_id, "run": f"run {rule.scope_id}", "once": ""}[rule.scope]
    source = f"{rule.author}, session {rule.session}" if rule.session else rule.author
    return f"{rule.id}  {rule.description}  ({scope}; {source}, {date})"


async def print_decision(context: Invocation, command: str, folder: Path, mode: Mode = DEFAULT_MODE) -> int:
    """Print whether a new session in this folder could run a command, and why. The command is not executed."""
    if not command.strip():
        raise Problem("There is no command to test.", "", "Give one: journeyman rules test 'git push'")
    workspace = _resolved(folder)
    sandbox = await context.engine.sandbox_status()
    policy_context = PolicyContext(
        "",
        "",
        workspace,
        _resolved(context.data_folder),
        sandbox.level,
        expand=partial(matching_files, Path(workspace)),
        secret_files=partial(secret_files, Path(workspace)),
    )
    call = ProposedCall("", "run", command, "execute", canonical_json({"command": command}), (command,))
    decision = _decision_json(evaluate_call(call, mode, context.rules.read().rules, (), policy_context))
    if context.args.json:
        conditions = {"command": command, "folder": workspace, "mode": mode, "sandbox": sandbox.level}
        sandbox_off = sandbox.disabled.message if sandbox.disabled else ""
        context.out.write_json(conditions | decision | {"sandbox_off": sandbox_off})
        return DONE
    rule = f" [{decision['rule_id']}]" if decision["rule_id"] else ""
    context.out.write(f"{decision['decision']}: {decision['reason']}{rule}")
    if sandbox.disabled:
        context.out.write(f"Every command asks on this computer: {sandbox.disabled.message} {sandbox.disabled.fix}")
    return DONE


def _decision_json(verdict: PolicyDecision) -> dict[str, Any]:
    match verdict:
        case Allowed(reason=cause, rule_id=rule):
            return {"decision": "allowed", "reason": cause, "rule_id": rule}
        case Denied(reason=reason, rule_id=rule):
            return {"decision": "denied", "reason": reason, "rule_id": rule}
        case NeedsApproval(request=request):
            return {
                "decision": "asks",
                "reason": request.reason,
                "rule_id": request.rule_id,
                "patterns": list(request.patterns),
            }


def _resolved(folder: Path) -> str:
    if not folder.is_dir():
        raise Problem(f"There is no folder {folder}.", "", "Name an existing folder.")
    return str(folder.resolve())
