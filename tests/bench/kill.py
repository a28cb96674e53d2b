"""Kills the program at 50 random moments and at every 7th write; the ordinary tests run a sample of these."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.bench.benchmark import ROOT, Measurement


def measure_kills() -> Iterator[Measurement]:
    began = time.monotonic()
    words = [sys.executable, "-m", "pytest", "-q", "--no-header", "tests/e2e/test_kill.py"]
    done = subprocess.run(words, cwd=ROOT, env=os.environ | {"JOURNEYMAN_FAULTS": "full"}, stdout=subprocess.PIPE)
    out = done.stdout.decode()
    if done.returncode:
        print(out, file=sys.stderr)
    summary = out.strip().splitlines()[-1] if out.strip() else ""
    good = done.returncode == 0
    yield Measurement("kill -9", {"s": time.monotonic() - began, "tests": summary}, "nothing lost, nothing twice", good)
