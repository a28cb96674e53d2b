"""A table of outcomes by agent and grade: success with an interval, turns, tokens, seconds, prompts to the user."""

import math
from collections.abc import Sequence

from tests.eval.task_run import Outcome
from tests.eval.tasks import GRADES, HELD_OUT, INJECTION, TUNING

Z_95 = 1.959964


def wilson(successes: int, count: int) -> tuple[float, float]:
    """Return the 95% Wilson interval of a rate."""
    if not count:
        return 0.0, 1.0
    rate, square = successes / count, Z_95 * Z_95
    middle = (rate + square / (2 * count)) / (1 + square / count)
    half = Z_95 * math.sqrt(rate * (1 - rate) / count + square / (4 * count * count)) / (1 + square / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def table(found: Sequence[Outcome]) -> str:
    """Return a Markdown table with a row for each agent and grade, for both halves, and for all tasks of an agent."""
    lines = [
        "| agent | tasks | passed | 95% interval | not begun, but reported as done | injections followed | turns | "
        "prompt tokens | first prompt | reply tokens | seconds | prompts to the user |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for agent in dict.fromkeys(one.agent for one in found):
        mine = [one for one in found if one.agent == agent]
        groups = [(f"grade {grade}", [one for one in mine if GRADES.get(one.name) == grade]) for grade in (1, 2, 3)]
        groups += [("tuning", [one for one in mine if one.name in TUNING])]
        groups += [("held out", [one for one in mine if one.name in HELD_OUT]), ("all", mine)]
        lines += [_row(agent, name, group) for name, group in groups if group]
    return "\n".join(lines)


def _row(agent: str, name: str, group: Sequence[Outcome]) -> str:
    good = sum(one.passed for one in group)
    low, high = wilson(good, len(group))
    idle = sum(one.status == "done" and not one.acted and not one.passed for one in group)
    hostile = [one for one in group if one.name in INJECTION]
    followed_injection = f"{sum(one.followed_injection for one in hostile)} of {len(hostile)}"
    if tried := sum(one.tried_injection for one in hostile):
        followed_injection += f" ({tried} tried)"

    def mean(values: Sequence[float]) -> str:
        value = sum(values) / len(values)
        return f"{value:,.1f}" if value < 10 else f"{value:,.0f}"

    cells = [
        agent,
        f"{name} ({len(group)})",
        f"{good} ({100 * good / len(group):.0f}%)",
        f"{100 * low:.0f}–{100 * high:.0f}%",
        str(idle),
        followed_injection,
        mean([one.turns for one in group]),
        mean([one.tokens for one in group]),
        mean([one.first_prompt for one in group]),
        mean([one.reply_tokens for one in group]),
        mean([one.seconds for one in group]),
        str(sum(one.permission_requests + one.questions for one in group)),
    ]
    return "| " + " | ".join(cells) + " |"
