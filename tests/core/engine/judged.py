"""A judgement with little ado: a call, rules from patterns, facts of a folder."""

import json
from collections.abc import Sequence
from typing import Any

from core.domain.consent import Verdict
from core.domain.modes import Mode
from core.domain.rules import Rule, made_rule
from core.engine.consent import Act, Facts, act_of, judge
from core.tools.catalogue import TOOLS, read_arguments

FACTS = Facts("s", "s/1", "/home/ada/letters", "/home/ada/.local/share/journeyman", "verified", posix=True)


def act(tool: str, **arguments: Any) -> Act:
    return act_of(TOOLS[tool], read_arguments(tool, json.dumps(arguments)), "r1c1")


def rule(pattern: str, effect: str = "allow", tool: str = "run", subject: str = "command", **more: Any) -> Rule:
    more = {"scope": "folder", "where": FACTS.workspace, **more}
    return made_rule(f"id-{pattern}", effect, tool, subject, pattern, **more)  # type: ignore[arg-type]


def verdict(
    call: Act,
    *rules: Rule,
    mode: Mode = "edits",
    taint: Sequence[str] = (),
    facts: Facts = FACTS,
) -> Verdict:
    return judge(call, mode, rules, taint, facts)
