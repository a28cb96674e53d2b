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
        typed = context.args
        return await print_decision(context, typed.command_line, context.folder / typed.folder, typed.mode)
    if context.args.action == "revoke":
        said = await context.rules.revoke(context.args.rule)
        context.out.write(f"Revoked: {said}")
        return DONE
    found = context.rules.read()
    if found.rules is None:
        assert found.error is not None
        context.out.print_error(found.error)
        return FAILED
    if not found.rules and not context.args.json:
        context.out.write("No saved rules.")
    for rule in found.rules:
        if context.args.json:
            context.out.write_json(dataclasses.asdict(rule) | {"created_at": iso_time(rule.created_at)})
        else:
            context.out.write(_line(rule))
    return DONE


def _line(rule: PermissionRule) -> str:
    when = datetime.fromtimestamp(rule.created_at / SECOND).astimezone().strftime("%Y-%m-%d")
    where = {"always": "everywhere", "folder": rule.scope_id, "run": f"run {rule.scope_id}", "once": ""}[rule.scope]
    source = f"{rule.author}, session {rule.session}" if rule.session else rule.author
    return f"{rule.id}  {rule.description}  ({where}; {source}, {when})"


async def print_decision(context: Invocation, command: str, folder: Path, mode: Mode = DEFAULT_MODE) -> int:
    """Print whether a new session in this folder could run a command, and why. The command is not executed."""
    if not command.strip():
        raise Problem("There is no command to test.", "", "Give one: journeyman rules test 'git push'")
    where = _real(folder)
    walls = await context.engine.sandbox_status()
    facts = PolicyContext(
        "",
        "",
        where,
        _real(context.data_folder),
        walls.level,
        expand=partial(matching_files, Path(where)),
        secret_files=partial(secret_files, Path(where)),
    )
    call = ProposedCall("", "run", command, "execute", canonical_json({"command": command}), (command,))
    told = _decision_json(evaluate_call(call, mode, context.rules.read().rules, (), facts))
    if context.args.json:
        where_and_how = {"command": command, "folder": where, "mode": mode, "sandbox": walls.level}
        context.out.write_json(where_and_how | told | {"sandbox_off": walls.disabled.message if walls.disabled else ""})
        return DONE
    context.out.write(f"{told['decision']}: {told['reason']}" + (f" [{told['rule_id']}]" if told["rule_id"] else ""))
    if walls.disabled:
        context.out.write(f"Every command asks on this computer: {walls.disabled.message} {walls.disabled.fix}")
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


def _real(folder: Path) -> str:
    if not folder.is_dir():
        raise Problem(f"There is no folder {folder}.", "", "Name an existing folder.")
    return str(folder.resolve())
