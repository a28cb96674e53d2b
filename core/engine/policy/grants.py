"""The grants of a run: what the user allowed with `--allow` when starting it, as tools or tools with a pattern."""

from dataclasses import dataclass
from functools import lru_cache

from core.domain.problems import Problem
from core.domain.rules import PermissionRule, new_rule
from core.engine.policy.policy import RULE_SUBJECTS
from core.tools.catalogue import TOOLS, tool_named


@dataclass(frozen=True, slots=True)
class RunGrants:
    """The parsed grants of a run.

    Calls of `tools` are treated as in mode `auto`: access to secrets stays denied, and irreversible commands need
    approval.
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
