"""What a person allowed a run when it began: a tool, or what a pattern of it means."""

from dataclasses import dataclass
from functools import lru_cache

from core.domain.problems import Problem
from core.domain.rules import Rule, made_rule
from core.engine.consent import SUBJECTS
from core.tools.catalogue import TOOLS, tool_named


@dataclass(frozen=True, slots=True)
class Grants:
    """`tools` are allowed as their mode of trust would allow them; secrets and what cannot be undone are not."""

    rules: tuple[Rule, ...] = ()
    tools: frozenset[str] = frozenset()


@lru_cache(maxsize=64)
def read_grants(allow: tuple[str, ...], run: str) -> Grants:
    """Of `TOOL` and `TOOL:PATTERN`. Raises Problem where one of them cannot be kept."""
    rules: list[Rule] = []
    tools: set[str] = set()
    for number, text in enumerate(allow, 1):
        name, colon, pattern = text.partition(":")
        tool = tool_named(name.strip())
        if tool is None:
            what = f"There is no tool {name!r} to allow."
            raise Problem(what, "", f"The tools are: {', '.join(sorted(TOOLS))}.")
        if not colon:
            tools.add(tool.name)
            continue
        subject = SUBJECTS[tool.touches]
        where = {"scope": "run", "where": run, "by": "command line"}
        rules.append(made_rule(f"allow{number}", "allow", tool.name, subject, pattern.strip(), **where))  # type: ignore[arg-type]
    return Grants(tuple(rules), frozenset(tools))
