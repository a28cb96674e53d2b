"""How often a person is asked in forty everyday tasks, by mode: the table that the help gives."""

from collections.abc import Iterator

from core.domain.modes import MODES
from tests.bench.bench import Figure
from tests.core.engine.test_everyday_consents import MOST, RULES, TASKS, WITH_RULES, asked


def consents() -> Iterator[Figure]:
    """Counted, not timed; rules are those that a person keeps in some weeks."""
    for mode in MODES:
        without, kept = asked(mode, ()), asked(mode, RULES)
        good = without["asked"] <= MOST[mode] and kept["asked"] <= WITH_RULES[mode]
        values = {
            "tasks": len(TASKS),
            "asked": without["asked"],
            "per_task": round(without["asked"] / len(TASKS), 2),
            "with_rules": kept["asked"],
            "with_rules_per_task": round(kept["asked"] / len(TASKS), 2),
            "denied": without["denied"],
        }
        yield Figure(mode, values, f"at most {MOST[mode]}, with rules {WITH_RULES[mode]}", good)
