"""The command `rules`: lists, tests, adds, edits, revokes, restores and imports permission rules."""

import dataclasses
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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

if TYPE_CHECKING:
    from core.engine.api.policy_test import PolicyTest


class RuleReach(NamedTuple):
    """Where a rule applies: everywhere, or in the folder that the ID names."""

    scope: RuleScope
    scope_id: str


EVERYWHERE: Final = RuleReach("always", "")


class _Outcome(NamedTuple):
    """A policy decision as it is printed: the decision in one word, its reason, and the rule that made it, if any."""

    decision: str
    reason: str
    rule_id: str


async def rules(context: Invocation) -> int:
    """Run the action that the command line names."""
    return await ACTIONS[context.args.action](context)


async def print_decision(context: Invocation, command: str, folder: Path, mode: Mode = DEFAULT_MODE) -> int:
    """Print whether a new session in this folder could run a command, and why. The command is not executed."""
    result = await context.engine.test_command(command, folder, mode)
    if context.args.json:
        context.out.write_json({"command": command, "folder": result.folder, "mode": mode} | _result_json(result))
    else:
        for line in _result_lines(result):
            context.out.write(line)
    return DONE


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
    """Replace a rule. What the command line does not name stays as it is."""
    args = context.args
    rule = _find_permission_rule(context, args.rule)
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


def _find_permission_rule(context: Invocation, rule_id: str) -> PermissionRule:
    """Return a saved rule. Raise Problem for an unknown ID, or that of the record whether a folder is trusted."""
    for rule in _saved_rules(context):
        if rule.id == rule_id and rule.tool != FOLDER_TRUST:
            return rule
    raise Problem(f"There is no permission rule {rule_id!r}.", "", "List the rules with `journeyman rules`.")


def _reach(context: Invocation, folder: str | None) -> RuleReach:
    return EVERYWHERE if folder is None else RuleReach("folder", str(context.path(folder)))


def _rule_line(rule: PermissionRule) -> str:
    date = datetime.fromtimestamp(rule.created_at / SECOND).astimezone().strftime("%Y-%m-%d")
    source = f"{rule.author}, session {rule.session}" if rule.session else rule.author
    return f"{rule.id}  {rule.description}  ({_scope_text(rule)}; {source}, {date})"


def _scope_text(rule: PermissionRule) -> str:
    match rule.scope:
        case "always":
            return "everywhere"
        case "folder":
            return rule.scope_id
        case "run":
            return f"run {rule.scope_id}"
        case "once":
            return ""


def _result_lines(result: "PolicyTest") -> Iterator[str]:
    """Return the result of a test as text for the user."""
    outcome = _outcome(result.decision)
    rule = f" [{outcome.rule_id}]" if outcome.rule_id else ""
    yield f"{outcome.decision}: {outcome.reason}{rule}"
    if disabled := result.sandbox.disabled:
        yield f"Every command asks on this computer: {disabled.message} {disabled.fix}"


def _result_json(result: "PolicyTest") -> dict[str, Any]:
    fields: dict[str, Any] = {"sandbox": result.sandbox.level} | _outcome(result.decision)._asdict()
    if isinstance(result.decision, NeedsApproval):
        fields["patterns"] = list(result.decision.request.patterns)
    disabled = result.sandbox.disabled
    return fields | {"sandbox_off": disabled.message if disabled else ""}


def _outcome(decision: PolicyDecision) -> _Outcome:
    match decision:
        case Allowed(reason=reason, rule_id=rule_id):
            return _Outcome("allowed", reason, rule_id)
        case Denied(reason=reason, rule_id=rule_id):
            return _Outcome("denied", reason, rule_id)
        case NeedsApproval(request=request):
            return _Outcome("asks", request.reason, request.rule_id)


ACTIONS: Mapping[str, Callable[[Invocation], Awaitable[int]]] = {
    "list": _list,
    "test": _test,
    "add": _add,
    "edit": _edit,
    "revoke": _revoke,
    "restore": _restore,
    "import": _import,
}
