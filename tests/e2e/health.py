"""What a process that is watched costs: how long its window stood still, its memory, its handles."""

import os
import re
from pathlib import Path

FROZEN_MS = 250


def stalls(home: Path) -> list[int]:
    """In milliseconds, as the heartbeat logged them; what others made it wait for the processor is not its own."""
    path = home / "stalls.log"
    found = re.findall(r"stood still for (\d+) ms(?:, for (\d+) of them)?", path.read_text() if path.exists() else "")
    return [int(still) - int(behind or 0) for still, behind in found]


def size(process: int) -> tuple[float, int]:
    """Megabytes that are its own, and open handles."""
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    own = sum(int(found) for found in re.findall(r"Private_(?:Clean|Dirty):\s+(\d+)", rollup))
    return own / 1024, len(os.listdir(f"/proc/{process}/fd"))  # noqa: PTH208 - a plain count
