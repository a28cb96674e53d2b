"""Runs the whole fault suite at every injection point: `python -m tests.faults`; prints the result of each case."""

import os
import sys
from collections import Counter, defaultdict

import pytest

from tests.faults.cases import CASES
from tests.faults.tally import PROPERTY


class CaseResults:
    """A pytest plugin that collects the outcome of each test and the number of faults it injected."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Counter[str]] = defaultdict(Counter)
        self.tried: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.split("[")[0]
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[name][report.outcome] += 1
        if report.when == "call":
            self.tried[name] += sum(
                count for key, count in report.user_properties if key == PROPERTY and isinstance(count, int)
            )

    def outcomes_of(self, places: tuple[str, ...]) -> Counter[str]:
        """Return the outcomes of these tests, or of all tests in these files, by count."""
        whole: Counter[str] = Counter()
        for name, ends in self.outcomes.items():
            if name.startswith(places):
                whole += ends
        return whole


def main(words: list[str]) -> int:
    """Run the suite and return the exit code of pytest: 0 if every case passed."""
    drop_root_capabilities(words)
    os.environ |= {"EVERY_FAULT": "1", "JOURNEYMAN_FAULTS": "full", "QT_QPA_PLATFORM": "offscreen"}
    results = CaseResults()
    wanted = sorted({place for places in CASES.values() for place in places})
    code = pytest.main(["-q", "-n", "2", "--dist", "worksteal", *words, *wanted], plugins=[results])
    broken = 0
    for case, places in CASES.items():
        ends = results.outcomes_of(places)
        broken += bool(ends["failed"])
        summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(ends.items())) or "not run"
        print(f"{case:7} {summary}")
    print(f"{len(CASES)} cases, {sum(results.tried.values())} faults injected, {broken} cases failed")
    return int(code)


def drop_root_capabilities(words: list[str]) -> None:
    """Restart without the capabilities that let root bypass file permissions; no effect for other users."""
    if os.name == "posix" and os.geteuid() == 0 and "JOURNEYMAN_CAPABILITIES_DROPPED" not in os.environ:
        os.environ["JOURNEYMAN_CAPABILITIES_DROPPED"] = "1"
        capabilities = "-dac_override,-dac_read_search,-fowner"
        drop = ["setpriv", f"--inh-caps={capabilities}", f"--bounding-set={capabilities}"]
        sys.stdout.flush()
        os.execvp(drop[0], [*drop, sys.executable, "-m", "tests.faults", *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
