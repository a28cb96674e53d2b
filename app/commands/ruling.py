"""`rules`, and what `rules test` and `doctor --rule` say: what would become of a command, and why."""

import dataclasses
from datetime import datetime
from pathlib import Path
from typing import Any

from app.commands.context import Context
from app.commands.exits import DONE, FAILED
from app.output import moment
from core.domain.clock import SECOND
from core.domain.consent import Allowed, Asks, Denied, Verdict, canonical
from core.domain.modes import DEFAULT_MODE, Mode
from core.domain.problems import Problem
from core.domain.rules import Rule
from core.engine.consent import Act, Facts, judge


async def rules(context: Context) -> int:
    """List the rules, revoke one, or try a command on them."""
    if context.typed.action == "test":
        typed = context.typed
        return await try_rule(context, typed.command_line, context.folder / typed.folder, typed.mode)
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


async def try_rule(context: Context, command: str, folder: Path, mode: Mode = DEFAULT_MODE) -> int:
    """Say what would become of a command that a new session runs in the folder, and why. Nothing is run."""
    if not command.strip():
        raise Problem("There is no command to try.", "", "Give one: journeyman rules test 'git push'")
    where = _real(folder)
    walls = await context.engine.walls()
    facts = Facts("", "", where, _real(context.home), walls.level)
    call = Act("", "run", command, "runs", canonical({"command": command}), (command,))
    told = _told(judge(call, mode, context.rules.read().rules, (), facts))
    if context.typed.json:
        where_and_how = {"command": command, "folder": where, "mode": mode, "sandbox": walls.level}
        context.out.json(where_and_how | told | {"off": walls.off.what if walls.off else ""})
        return DONE
    context.out.write(f"{told['verdict']}: {told['why']}" + (f" [{told['rule']}]" if told["rule"] else ""))
    if walls.off:
        context.out.write(f"No command runs unasked here: {walls.off.what} {walls.off.do}")
    return DONE


def _told(verdict: Verdict) -> dict[str, Any]:
    match verdict:
        case Allowed(cause=cause, rule=rule):
            return {"verdict": "allowed", "why": cause, "rule": rule}
        case Denied(reason=reason, rule=rule):
            return {"verdict": "denied", "why": reason, "rule": rule}
        case Asks(request=request):
            return {"verdict": "asks", "why": request.why, "rule": request.rule, "patterns": list(request.patterns)}


def _real(folder: Path) -> str:
    if not folder.is_dir():
        raise Problem(f"There is no folder {folder}.", "", "Name one that exists.")
    return str(folder.resolve())
