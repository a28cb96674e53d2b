"""Permissions given by the user: the grants of a run (`--allow`), and the rules saved with an approval."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.domain.permissions import PermissionRequest, RuleScope
from core.domain.problems import Problem
from core.domain.rules import PermissionRule, new_rule
from core.engine.policy.proposed_call import RULE_SUBJECTS
from core.tools.catalogue import TOOLS, tool_named


@dataclass(frozen=True, slots=True)
class RunGrants:
    """The parsed grants of a run.

    Calls of `tools` are treated as in mode `auto`: access to secrets stays denied, and irreversible commands and those
    that untrusted content may have dictated need approval.
    """

    rules: tuple[PermissionRule, ...] = ()
    tools: frozenset[str] = frozenset()


@lru_cache(maxsize=64)
def parse_grants(allow: tuple[str, ...], run: str) -> RunGrants:
    """Parse grants of the form `TOOL` or `TOOL:PATTERN` for the run `run`. Raise Problem if any is invalid."""
    rules: list[PermissionRule] = []
    tools: set[str] = set()
    for number, text in enumerate(allow, 1):
        name, colon, pattern = text.partition(":")
        tool = tool_named(name.strip())
        if tool is None:
            message = f"There is no tool {name!r} to allow."
            raise Problem(message, "", f"The tools are: {', '.join(sorted(TOOLS))}.")
        if not colon:
            tools.add(tool.name)
            continue
        subject = RULE_SUBJECTS[tool.access]
        pattern = pattern.strip()
        rules.append(
            new_rule(
                f"allow{number}", "allow", tool.name, subject, pattern, scope="run", scope_id=run, author="command line"
            )
        )
    return RunGrants(tuple(rules), frozenset(tools))


def rules_from_approval(
    request: PermissionRequest,
    scope: RuleScope,
    patterns: Sequence[str],
    run: str,
    new_id: Callable[[], str],
    created_at: int,
) -> list[PermissionRule]:
    """Return the allow rules to save when the user approves a request for `scope`, one for each chosen pattern.

    Raise Problem for a pattern that the request did not offer.
    """
    if scope == "once":
        return []
    is_offered = bool(patterns) and set(patterns) <= set(request.patterns)
    if not request.reversible or not request.access or not is_offered:
        raise Problem("This approval cannot be saved as a rule.", "The request does not offer it.", "Allow it once.")
    scope_id = {"run": run, "folder": request.cwd, "always": ""}[scope]
    subject = RULE_SUBJECTS[request.access]
    session = request.id.removesuffix(f"-{request.call_id}-may")
    return [
        new_rule(
            new_id(),
            "allow",
            request.tool,
            subject,
            pattern,
            scope=scope,
            scope_id=scope_id,
            created_at=created_at,
            session=session,
        )
        for pattern in patterns
    ]
