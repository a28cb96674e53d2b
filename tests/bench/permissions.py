"""Counts the permission requests in forty everyday tasks, by mode; the help shows this table."""

from collections.abc import Iterator

from core.domain.modes import MODES
from tests.bench.benchmark import Measurement
from tests.core.engine.test_everyday_approvals import MOST, RULES, TASKS, WITH_RULES, count_approvals


def count_permission_requests() -> Iterator[Measurement]:
    """Count the requests with no saved rules and with those a user would save in a few weeks."""
    for mode in MODES:
        without, kept = count_approvals(mode, ()), count_approvals(mode, RULES)
        good = without["asked"] <= MOST[mode] and kept["asked"] <= WITH_RULES[mode]
        values = {
            "tasks": len(TASKS),
            "asked": without["asked"],
            "per_task": round(without["asked"] / len(TASKS), 2),
            "with_rules": kept["asked"],
            "with_rules_per_task": round(kept["asked"] / len(TASKS), 2),
            "denied": without["denied"],
        }
        yield Measurement(mode, values, f"at most {MOST[mode]}, with rules {WITH_RULES[mode]}", good)
