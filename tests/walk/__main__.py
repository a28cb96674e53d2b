"""python -m tests.walk: a walk of so many minutes in Xvfb, by mouse and then by keys; what broke and what grew."""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.health import FROZEN_MS
from tests.e2e.screen import ROOT, screen
from tests.e2e.tree import bus
from tests.walk.acts import ENDS, Act, possible, step
from tests.walk.hands import HANDS
from tests.walk.model import model
from tests.walk.walk import After, Walk

MOST_MB, MOST_HANDLES = 20.0, 4
LIFE, WARM = 90, 40  # acts before a window is closed or killed; those in which everything is opened once
KEPT = ROOT / ".walk"


def main(words: list[str]) -> int:
    read = argparse.ArgumentParser(prog="dev.py test --walk", description=__doc__)
    read.add_argument("--minutes", type=float, default=60.0, help="of each of the two walks")
    read.add_argument("--seed", type=int, default=int(time.time()), help="says what is done, in which order")
    read.add_argument("--by", choices=HANDS, help="only this one")
    asked = read.parse_args(words)
    print(f"seed {asked.seed}, {asked.minutes:g} minutes", flush=True)
    return max(walk(asked.minutes, by, asked.seed) for by in ([asked.by] if asked.by else HANDS))


def walk(minutes: float, by: str, seed: int) -> int:
    """0 when nothing broke and nothing grew."""
    with ready(by, seed) as made:
        made.open()
        end, done = time.monotonic() + minutes * 60, Counter[str]()
        try:
            while time.monotonic() < end:
                act = choose(made)
                began = time.monotonic()
                step(made, act)
                done[act.name] += 1
                print(f"{by} {sum(done.values())}: {act.name} {time.monotonic() - began:.1f} s", flush=True)
            made.end()
        except AssertionError as broken:
            keep(made, f"{by}, seed {seed}, after {done.total()} acts, in {act.name}: {broken}")
            return 1
        return told(made, by, done)


@contextmanager
def ready(by: str, seed: int) -> Iterator[Walk]:
    """All it takes to walk."""
    with tempfile.TemporaryDirectory(prefix="walk-") as name, bus() as told, model() as url:
        folder = Path(name)
        (folder / "screen").mkdir()
        with screen(folder / "screen") as display:
            made = Walk(told.screen(display), told, folder / "person", url, by, random.Random(seed))
            try:
                yield made
            finally:
                made.close()


def choose(made: Walk) -> Act:
    """Any that can be done now; what was never done in this window goes first, and its end comes late."""
    life = made.lives[-1]
    able = [act for act in possible(made) if len(life) >= LIFE or act.name not in ENDS]
    known = {one.act for one in life} | ENDS
    return made.chance.choice([act for act in able if act.name not in known] or able)


def keep(made: Walk, words: str) -> None:
    """For whoever mends it: what was seen, and the words."""
    kept()
    (KEPT / f"{made.by}.txt").write_text(words)
    made.display.picture().save(KEPT / f"{made.by}.png")
    print(f"BROKEN, see {KEPT}: {words.splitlines()[0]}", flush=True)


def kept() -> None:
    KEPT.mkdir(exist_ok=True)
    (KEPT / ".gitignore").write_text("*\n")


def told(made: Walk, by: str, done: Counter[str]) -> int:
    """The figures, and whether they are good."""
    print(f"{by}: {done.total()} acts, each of {len(done)} kinds at least {min(done.values())} times; nothing broke")
    slow = sorted((ms for ms in made.slow if ms >= 100), reverse=True)
    frozen = [ms for ms in slow if ms >= FROZEN_MS]
    print(f"  stalls over 100 ms: {len(slow)}, the longest {slow[:10]}; from {FROZEN_MS} ms on: {len(frozen)}")
    if frozen:
        kept()
        (KEPT / f"{by}.stalls").write_text((made.home / "stalls.log").read_text())
    grown = 0.0
    for life in made.lives:
        megabytes, handles = growth(life)
        last = f"{life[-1].megabytes:.0f} MB" if life else "nothing"
        print(f"  {len(life)} acts in one window: {megabytes:+.1f} MB, {handles:+} handles, {last} at last")
        grown = max(grown, megabytes / MOST_MB, handles / MOST_HANDLES)
    return int(grown > 1 or bool(frozen))


def growth(life: list[After]) -> tuple[float, int]:
    """Of the last quarter over the one after the beginning, in megabytes and handles: the least of each."""
    rest = life[WARM:]
    if len(rest) < 8:
        return 0.0, 0
    quarter = len(rest) // 4
    first, last = rest[:quarter], rest[-quarter:]
    return (
        min(one.megabytes for one in last) - min(one.megabytes for one in first),
        min(one.handles for one in last) - min(one.handles for one in first),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
