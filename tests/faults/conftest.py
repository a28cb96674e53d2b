"""Fixtures that inject faults into system calls with `strace`."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.tally import PROPERTY, CountFaults

REASON = "strace is not installed; run `apt install strace` to enable these tests"


class FaultInjector:
    """Runs jobs of the fork server, each with one injected fault."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=Path(__file__).parents[2],
        )

    def close(self) -> None:
        self._server.communicate(timeout=10)

    def run(self, work: str, folder: Path, fault: str, *paths: Path) -> int:
        """Return the exit code of a job: 0, 1 for a bug, or minus the signal. `fault` is as in `strace -e inject=`."""
        return self._trace(work, folder, ["-o", os.devnull, "-e", f"inject={fault}"], paths)

    def count(self, work: str, folder: Path, call: str, *paths: Path) -> int:
        """Return how often the busiest thread makes this system call: strace counts injection points per thread."""
        log = folder.parent / "calls"
        assert self._trace(work, folder, ["-o", str(log), "-e", f"trace={call}"], paths) == 0
        threads = Counter(line.split()[0] for line in log.read_text().splitlines() if f" {call}(" in line)
        return max(threads.values(), default=0)

    def _trace(self, work: str, folder: Path, options: list[str], paths: tuple[Path, ...]) -> int:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"work": work, "folder": str(folder)}) + "\n")
        child = self._line()
        limits = [part for path in paths for part in ("-P", str(path))]
        command = ["strace", "-f", *options, *limits, "-p", str(child)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            assert strace.stderr is not None
            first = strace.stderr.readline()
            assert "attached" in first, first
            self._server.stdin.write("go\n")
            strace.stderr.read()
        return self._line()

    def _line(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())


@pytest.fixture
def tried(request: pytest.FixtureRequest) -> CountFaults:
    """Return a function that adds to the number of faults this test injected."""
    return lambda count: request.node.user_properties.append((PROPERTY, count))


@pytest.fixture(scope="session")
def faults() -> Iterator[FaultInjector]:
    """Skip the test without `strace`, except on CI, where the tests must run and therefore fail."""
    if not shutil.which("strace") and not os.environ.get("CI"):
        pytest.skip(REASON)
    server = FaultInjector()
    yield server
    server.close()
