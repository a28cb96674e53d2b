"""Reads the stalls, memory and open handles of a running program."""

import os
import re
from pathlib import Path

FROZEN_MS = 250


def stalls(home: Path) -> list[int]:
    """Return the logged stalls in milliseconds, without the time other programs occupied the processor."""
    path = home / "stalls.log"
    found = re.findall(r"was blocked for (\d+) ms(?:, for (\d+) of them)?", path.read_text() if path.exists() else "")
    return [int(still) - int(behind or 0) for still, behind in found]


def memory_and_handles(process: int) -> tuple[float, int]:
    """Return the private memory in megabytes and the number of open handles."""
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    own = sum(int(found) for found in re.findall(r"Private_(?:Clean|Dirty):\s+(\d+)", rollup))
    return own / 1024, len(os.listdir(f"/proc/{process}/fd"))  # noqa: PTH208 - a plain count
