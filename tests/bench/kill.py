"""Kill the program at 50 random moments and at every 7th write: the whole of what the ordinary tests sample."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.bench.bench import ROOT, Figure


def kills() -> Iterator[Figure]:
    began = time.monotonic()
    words = [sys.executable, "-m", "pytest", "-q", "--no-header", "tests/e2e/test_kill.py"]
    done = subprocess.run(words, cwd=ROOT, env=os.environ | {"JOURNEYMAN_FAULTS": "full"}, stdout=subprocess.PIPE)
    out = done.stdout.decode()
    if done.returncode:
        print(out, file=sys.stderr)
    summary = out.strip().splitlines()[-1] if out.strip() else ""
    good = done.returncode == 0
    yield Figure("kill -9", {"s": time.monotonic() - began, "tests": summary}, "nothing lost, nothing twice", good)
