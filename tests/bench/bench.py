"""What a measurement is, and what all of them share: a scratch folder on a real disk, medians, plain figures."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRATCH = ROOT / ".bench"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured line. `goal` says what was wanted of it, `good` whether it was met."""

    name: str
    values: Mapping[str, float | int | str]
    goal: str = ""
    good: bool = True


@dataclass(frozen=True, slots=True)
class Bench:
    """A measurement by name; `run` yields its lines as they are known."""

    name: str
    what: str
    run: Callable[[], Iterator[Figure]] = field(repr=False)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder beside the code: the system's own may be kept in memory, where a sync costs nothing."""
    SCRATCH.mkdir(exist_ok=True)
    (SCRATCH / ".gitignore").write_text("*\n")
    folder = Path(tempfile.mkdtemp(dir=SCRATCH))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def percentile(values: list[float], share: float) -> float:
    """The value that `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
