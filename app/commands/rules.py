"""The command `rules`: lists, tests, adds, edits, revokes and imports permission rules."""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from app.process.output import iso_time
from core.domain.clock import SECOND
from core.domain.modes import DEFAULT_MODE, Mode
from core.domain.permissions import Allowed, Denied, NeedsApproval, PolicyDecision, RuleScope
from core.domain.problems import Problem
from core.domain.rules import PermissionRule, RuleDraft, by_precedence
from core.engine.policy.permission_lists import describe_lists, new_rules
from core.engine.policy.trust import RULE_TOOL as FOLDER_TRUST


class RuleReach(NamedTuple):
    """Where a rule applies: everywhere, or in the folder that the ID names."""

    scope: RuleScope
    scope_id: str


async def rules(context: Invocation) -> int:
    return await ACTIONS[context.args.action](context)


async def _list(context: Invocation) -> int:
    saved = _saved_rules(context)
    if not saved and not context.args.json:
        context.out.write("No saved rules.")
    for rule in by_precedence(saved):
        if context.args.json:
            context.out.write_json(dataclasses.asdict(rule) | {"created_at": iso_time(rule.created_at)})
        else:
            context.out.write(_rule_line(rule))
    return DONE


async def _test(context: Invocation) -> int:
    args = context.args
    return await print_decision(context, args.command_line, context.path(args.folder), args.mode)


async def _add(context: Invocation) -> int:
    args = context.args
    reach = _reach(context, args.folder)
    draft = RuleDraft(
        effect=args.effect, tool=args.tool, pattern=args.pattern, scope=reach.scope, scope_id=reach.scope_id
    )
    rule = await context.engine.add_rule(draft)
    context.out.write(f"Added: {_rule_line(rule)}")
    return DONE


async def _edit(context: Invocation) -> int:
    args = context.args
    rule = next((rule for rule in _saved_rules(context) if rule.id == args.rule), None)
    if rule is None or rule.tool == FOLDER_TRUST:
        raise Problem(f"There is no permission rule {args.rule!r}.", "", "List the rules with `journeyman rules`.")
    reach = RuleReach(rule.scope, rule.scope_id)
    if args.everywhere or args.folder is not None:
        reach = _reach(context, args.folder)
    draft = RuleDraft(
        effect=args.effect or rule.effect,
        tool=args.tool or rule.tool,
        pattern=rule.pattern if args.pattern is None else args.pattern,
        scope=reach.scope,
        scope_id=reach.scope_id,
    )
    changed = await context.engine.replace_rule(rule.id, draft)
    context.out.write(f"Saved: {_rule_line(changed)}")
    return DONE


async def _revoke(context: Invocation) -> int:
    context.out.write(f"Revoked: {await context.engine.revoke(context.args.rule)}")
    return DONE


async def _restore(context: Invocation) -> int:
    context.out.write(f"Restored: {await context.engine.restore_rule(context.args.rule)}")
    return DONE


async def _import(context: Invocation) -> int:
    """List the rules that other agents' permission lists contain, and save them only with `--save`."""
    lists = await context.engine.permission_lists(context.path(context.args.folder))
    if not lists:
        context.out.write("No permission lists found.")
    new = new_rules(lists, _saved_rules(context))
    for line in describe_lists(lists):
        context.out.write(line)
    if context.args.save:
        await context.engine.add_rules(new)
        context.out.write(f"Rules added: {len(new)}")
    elif new:
        context.out.write(f"New rules: {len(new)}. Nothing is saved without --save.")
    return DONE


def _saved_rules(context: Invocation) -> tuple[PermissionRule, ...]:
    """Return the saved rules. Raise Problem if they cannot be read, so that no rule counts as missing."""
    loaded = context.engine.rules()
    if loaded.rules is None:
        assert loaded.error is not None
        raise Problem.from_details(loaded.error)
    return loaded.rules


def _reach(context: Invocation, folder: str | None) -> RuleReach:
    return RuleReach("always", "") if folder is None else RuleReach("folder", str(context.path(folder)))


def _rule_line(rule: PermissionRule) -> str:
    date = datetime.fromtimestamp(rule.created_at / SECOND).astimezone().strftime("%Y-%m-%d")
    scope = {"always": "everywhere", "folder": rule.scope_id, "run": f"run {rule.scope_id}", "once": ""}[rule.scope]
    source = f"{rule.author}, session {rule.session}" if rule.session else rule.author
    return f"{rule.id}  {rule.description}  ({scope}; {source}, {date})"


async def print_decision(context: Invocation, command: str, folder: Path, mode: Mode = DEFAULT_MODE) -> int:
    """Print whether a new session in this folder could run a command, and why. The command is not executed."""
    result = await context.engine.test_command(command, folder, mode)
    sandbox = result.sandbox
    decision = _decision_json(result.decision)
    if context.args.json:
        conditions = {"command": command, "folder": result.folder, "mode": mode, "sandbox": sandbox.level}
        sandbox_off = sandbox.disabled.message if sandbox.disabled else ""
        context.out.write_json(conditions | decision | {"sandbox_off": sandbox_off})
        return DONE
    rule = f" [{decision['rule_id']}]" if decision["rule_id"] else ""
    context.out.write(f"{decision['decision']}: {decision['reason']}{rule}")
    if sandbox.disabled:
        context.out.write(f"Every command asks on this computer: {sandbox.disabled.message} {sandbox.disabled.fix}")
    return DONE


def _decision_json(decision: PolicyDecision) -> dict[str, Any]:
    match decision:
        case Allowed(reason=reason, rule_id=rule_id):
            return {"decision": "allowed", "reason": reason, "rule_id": rule_id}
        case Denied(reason=reason, rule_id=rule_id):
            return {"decision": "denied", "reason": reason, "rule_id": rule_id}
        case NeedsApproval(request=request):
            return {
                "decision": "asks",
                "reason": request.reason,
                "rule_id": request.rule_id,
                "patterns": list(request.patterns),
            }


ACTIONS: Mapping[str, Callable[[Invocation], Awaitable[int]]] = {
    "list": _list,
    "test": _test,
    "add": _add,
    "edit": _edit,
    "revoke": _revoke,
    "restore": _restore,
    "import": _import,
}
