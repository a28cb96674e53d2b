"""`rules`, and what `doctor --rule` says: which rule would speak of a command."""

import dataclasses
from datetime import datetime
from typing import Any

from app.commands.context import Context
from app.commands.exits import DONE, FAILED
from app.output import moment
from core.domain.clock import SECOND
from core.domain.consent import DEFAULT_MODE, Allowed, Asks, Denied, canonical
from core.domain.problems import Problem
from core.domain.rules import Rule
from core.engine.consent import Act, Facts, judge


async def rules(context: Context) -> int:
    """List the rules, or revoke one."""
    if context.typed.action == "revoke":
        said = await context.rules.revoke(context.typed.rule)
        context.out.write(f"Revoked: {said}")
        return DONE
    found = context.rules.read()
    if found.rules is None:
        assert found.trouble is not None
        context.out.trouble(found.trouble)
        return FAILED
    for rule in found.rules:
        if context.typed.json:
            context.out.json(dataclasses.asdict(rule) | {"made": moment(rule.made)})
        else:
            context.out.write(_line(rule))
    return DONE


def _line(rule: Rule) -> str:
    when = datetime.fromtimestamp(rule.made / SECOND).astimezone().strftime("%Y-%m-%d")
    where = {"always": "everywhere", "folder": rule.where, "run": f"run {rule.where}", "once": ""}[rule.scope]
    source = f"{rule.by}, session {rule.session}" if rule.session else rule.by
    return f"{rule.id}  {rule.words}  ({where}; {source}, {when})"


def try_rule(context: Context) -> int:
    """Say what would become of a command typed in this folder, and why."""
    command: str = context.typed.rule
    if not command.strip():
        raise Problem("There is no command to try.", "", "Give one: journeyman doctor --rule 'git push'")
    folder = str(context.folder.resolve())
    found = context.rules.read()
    facts = Facts("", "", folder, str(context.home.resolve()), "verified")
    call = Act("", "run", command, "runs", canonical({"command": command}), (command,))
    match judge(call, DEFAULT_MODE, found.rules, (), facts):
        case Allowed(cause=cause, rule=rule):
            told: dict[str, Any] = {"verdict": "allowed", "why": cause, "rule": rule}
        case Denied(reason=reason, rule=rule):
            told = {"verdict": "denied", "why": reason, "rule": rule}
        case Asks(request=request):
            told = {"verdict": "asks", "why": request.why, "rule": request.rule, "patterns": list(request.patterns)}
    if context.typed.json:
        context.out.json({"command": command, "folder": folder, **told})
    else:
        context.out.write(f"{told['verdict']}: {told['why']}" + (f" [{told['rule']}]" if told["rule"] else ""))
    return DONE
