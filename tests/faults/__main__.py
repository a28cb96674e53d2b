"""The whole fault suite: `python -m tests.faults`, every point of it, and what came of each case."""

import os
import sys
from collections import Counter, defaultdict

import pytest

from tests.faults.cases import CASES
from tests.faults.tally import NAME


class Results:
    """How each test ended, and how many faults it said it tried."""

    def __init__(self) -> None:
        self.ends: dict[str, Counter[str]] = defaultdict(Counter)
        self.tried: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.split("[")[0]
        if report.when == "call" or report.outcome != "passed":
            self.ends[name][report.outcome] += 1
        if report.when == "call":
            self.tried[name] += sum(
                count for key, count in report.user_properties if key == NAME and isinstance(count, int)
            )

    def of(self, places: tuple[str, ...]) -> Counter[str]:
        """All ends of these tests, or of the tests in these files."""
        whole: Counter[str] = Counter()
        for name, ends in self.ends.items():
            if name.startswith(places):
                whole += ends
        return whole


def main(words: list[str]) -> int:
    """Exit code 0 when every case held."""
    without_power(words)
    os.environ |= {"EVERY_FAULT": "1", "JOURNEYMAN_FAULTS": "full", "QT_QPA_PLATFORM": "offscreen"}
    results = Results()
    wanted = sorted({place for places in CASES.values() for place in places})
    code = pytest.main(["-q", "-n", "2", "--dist", "worksteal", *words, *wanted], plugins=[results])
    broken = 0
    for case, places in CASES.items():
        ends = results.of(places)
        broken += bool(ends["failed"])
        said = ", ".join(f"{count} {end}" for end, count in sorted(ends.items())) or "not run"
        print(f"{case:7} {said}")
    print(f"{len(CASES)} cases, {sum(results.tried.values())} points tried, {broken} cases broken")
    return int(code)


def without_power(words: list[str]) -> None:
    """Root is not stopped by the rights of files; as anybody else it is, once it has no power over them."""
    if os.name == "posix" and os.geteuid() == 0 and "JOURNEYMAN_WITHOUT_POWER" not in os.environ:
        os.environ["JOURNEYMAN_WITHOUT_POWER"] = "1"
        powers = "-dac_override,-dac_read_search,-fowner"
        drop = ["setpriv", f"--inh-caps={powers}", f"--bounding-set={powers}"]
        sys.stdout.flush()
        os.execvp(drop[0], [*drop, sys.executable, "-m", "tests.faults", *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
