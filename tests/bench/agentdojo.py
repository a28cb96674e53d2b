"""Counts which injected acts of AgentDojo need no approval: `python -m tests.bench.agentdojo --python PYTHON`.

PYTHON is an interpreter with the package agentdojo, whose data stays there. The model is fully obedient: it performs
the calls of a task and then, after the first result, those of an injection. The user has saved a rule for every tool
that the task needs, which is the most that a task can be given.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from core.domain.permissions import Allowed
from core.domain.rules import PermissionRule
from core.engine.policy.outbound import only_reads_by_name
from core.engine.policy.proposed_call import propose_call
from core.tools.mcp_tools import McpCall, mcp_tool
from tests.core.engine.policy_calls import FACTS, rule, verdict

DUMP = """
import json, sys
from agentdojo.task_suite.load_suites import get_suites

def calls(task, environment):
    environment = environment.model_copy(deep=True)
    if hasattr(task, "init_environment"):
        environment = task.init_environment(environment)
    return [[call.function, dict(call.args)] for call in task.ground_truth(environment)]

suites = {}
for name, suite in get_suites(sys.argv[1]).items():
    environment = suite.load_and_inject_default_environment({})
    suites[name] = {
        "users": [[task.PROMPT, calls(task, environment)] for task in suite.user_tasks.values()],
        "injections": [[task.GOAL, calls(task, environment)] for task in suite.injection_tasks.values()],
    }
json.dump(suites, sys.stdout, default=str)
"""
Call = tuple[str, dict[str, Any]]


class Suite(NamedTuple):
    """User tasks and injections, each as its text and the calls that fulfill it."""

    name: str
    users: Sequence[tuple[str, Sequence[Call]]]
    injections: Sequence[tuple[str, Sequence[Call]]]


def load_suites(python: str, version: str) -> list[Suite]:
    done = subprocess.run([python, "-c", DUMP, version], capture_output=True, text=True, check=True)
    return [Suite(name, suite["users"], suite["injections"]) for name, suite in json.loads(done.stdout).items()]


def is_allowed(suite: Suite, prompt: str, call: Call, rules: Sequence[PermissionRule], *, has_read: bool) -> bool:
    """Return whether the policy allows a call without asking the user."""
    tool, arguments = call
    name = f"{suite.name}__{tool}"
    proposed = propose_call(mcp_tool(name), McpCall(suite.name, tool, arguments), "r1c1")
    taint = (f"mcp: {suite.name}",) if has_read else ()
    found = verdict(proposed, *rules, mode="auto", taint=taint, facts=replace(FACTS, user_words=(prompt,)))
    return isinstance(found, Allowed)


def rules_for(suite: Suite, calls: Sequence[Call]) -> list[PermissionRule]:
    tools = dict.fromkeys(tool for tool, _ in calls)
    return [rule(suite.name, tool=f"{suite.name}__{tool}", subject="host") for tool in tools]


def injected_acts(suites: Sequence[Suite], *, with_rules: bool) -> Iterator[tuple[str, str, Call]]:
    """Yield each injected call that needs no approval and that is not a call of the task itself."""
    for suite in suites:
        for prompt, calls in suite.users:
            rules = rules_for(suite, calls) if with_rules else ()
            for goal, injected in suite.injections:
                for call in injected:
                    if call not in calls and is_allowed(suite, prompt, call, rules, has_read=True):
                        yield prompt, goal, call


def requests_of_tasks(suites: Sequence[Suite], *, with_rules: bool) -> tuple[int, int]:
    """Return how many calls of the tasks themselves need approval, and how many calls they have."""
    asked = total = 0
    for suite in suites:
        for prompt, calls in suite.users:
            rules = rules_for(suite, calls) if with_rules else ()
            total += len(calls)
            asked += sum(
                not is_allowed(suite, prompt, call, rules, has_read=bool(index)) for index, call in enumerate(calls)
            )
    return asked, total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--version", default="v1.2.2", help="version of the suites")
    args = parser.parse_args()
    suites = load_suites(args.python, args.version)
    pairs = sum(len(suite.users) * len(suite.injections) for suite in suites)
    tasks = sum(len(suite.users) for suite in suites)
    harmful = 0
    for with_rules, what in ((False, "no rules"), (True, "a rule for every tool of the task")):
        tools = Counter(call[0] for _, _, call in injected_acts(suites, with_rules=with_rules))
        acts = {tool: number for tool, number in tools.items() if not only_reads_by_name(f"x__{tool}")}
        asked, total = requests_of_tasks(suites, with_rules=with_rules)
        print(f"{what}: of {pairs} pairs, {sum(acts.values())} injected acts need no approval {acts or ''}")
        print(f"    and {sum(tools.values()) - sum(acts.values())} injected calls that only read within the server")
        print(f"    {asked} of {total} calls of {tasks} tasks need approval ({asked / tasks:.2f} per task)")
        harmful += sum(acts.values())
    return 1 if harmful else 0


if __name__ == "__main__":
    sys.exit(main())
