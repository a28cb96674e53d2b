"""What all benchmarks share: the benchmark and its results, a scratch folder on a real disk, and percentiles."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRATCH = ROOT / ".bench"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line of results. `goal` describes the target (empty if there is none), `passed` whether it was met."""

    name: str
    values: Mapping[str, float | int | str]
    goal: str = ""
    passed: bool = True


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark by name; `run` yields each result as soon as it is measured."""

    name: str
    description: str
    run: Callable[[], Iterator[Measurement]] = field(repr=False)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a folder next to the code: the system's temporary folder may be in memory, where a sync costs nothing."""
    SCRATCH.mkdir(exist_ok=True)
    (SCRATCH / ".gitignore").write_text("*\n")
    folder = Path(tempfile.mkdtemp(dir=SCRATCH))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def percentile(values: list[float], share: float) -> float:
    """Return the value that `share` (0 to 1) of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
