"""Uses the real window at random in Xvfb, by mouse and then by keyboard; reports failures, stalls and growth."""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.accessibility import private_bus
from tests.e2e.process_health import FROZEN_MS
from tests.e2e.screen import ROOT, virtual_screen
from tests.monkey.actions import WINDOW_ENDING, Action, do_action, possible_actions
from tests.monkey.input_methods import INPUT_METHODS
from tests.monkey.monkey_run import MonkeyRun, ProcessSample
from tests.monkey.scripted_provider import scripted_provider

MAX_GROWTH_MB, MAX_NEW_HANDLES = 20.0, 4
ACTIONS_PER_WINDOW, WARM_UP_ACTIONS = (
    90,
    40,
)  # actions before a window is closed or killed; warm-up actions, excluded from the growth
ARTIFACTS = ROOT / ".walk"


def main(words: list[str]) -> int:
    read = argparse.ArgumentParser(prog="dev.py test --walk", description=__doc__)
    read.add_argument("--minutes", type=float, default=60.0, help="duration for each input method")
    read.add_argument("--seed", type=int, default=int(time.time()), help="seed of all random choices")
    read.add_argument("--by", choices=INPUT_METHODS, help="use only this input method")
    asked = read.parse_args(words)
    print(f"seed {asked.seed}, {asked.minutes:g} minutes", flush=True)
    return max(run_monkey_test(asked.minutes, by, asked.seed) for by in ([asked.by] if asked.by else INPUT_METHODS))


def run_monkey_test(minutes: float, by: str, seed: int) -> int:
    """Return exit code 0 if nothing failed, nothing grew and the window never froze."""
    with prepare(by, seed) as made:
        made.open()
        end, done = time.monotonic() + minutes * 60, Counter[str]()
        try:
            while time.monotonic() < end:
                act = choose_action(made)
                began = time.monotonic()
                do_action(made, act)
                done[act.name] += 1
                print(f"{by} {sum(done.values())}: {act.name} {time.monotonic() - began:.1f} s", flush=True)
            made.quit()
        except AssertionError as broken:
            save_failure(made, f"{by}, seed {seed}, after {done.total()} actions, in {act.name}: {broken}")
            return 1
        return report(made, by, done)


@contextmanager
def prepare(by: str, seed: int) -> Iterator[MonkeyRun]:
    """Start a screen, an accessibility bus and a scripted provider."""
    with (
        tempfile.TemporaryDirectory(prefix="walk-") as name,
        private_bus() as accessibility,
        scripted_provider() as url,
    ):
        folder = Path(name)
        (folder / "screen").mkdir()
        with virtual_screen(folder / "screen") as display:
            made = MonkeyRun(
                accessibility.connect_screen(display), accessibility, folder / "person", url, by, random.Random(seed)
            )
            try:
                yield made
            finally:
                made.close()


def choose_action(made: MonkeyRun) -> Action:
    """Choose a possible action at random, preferring those not yet done in this window; close it only after LIFE."""
    life = made.samples[-1]
    able = [act for act in possible_actions(made) if len(life) >= ACTIONS_PER_WINDOW or act.name not in WINDOW_ENDING]
    known = {one.act for one in life} | WINDOW_ENDING
    return made.rng.choice([act for act in able if act.name not in known] or able)


def save_failure(made: MonkeyRun, words: str) -> None:
    """Save the error and a screenshot."""
    make_artifact_folder()
    (ARTIFACTS / f"{made.input_name}.txt").write_text(words)
    made.display.screenshot().save(ARTIFACTS / f"{made.input_name}.png")
    print(f"FAILED, see {ARTIFACTS}: {words.splitlines()[0]}", flush=True)


def make_artifact_folder() -> None:
    ARTIFACTS.mkdir(exist_ok=True)
    (ARTIFACTS / ".gitignore").write_text("*\n")


def report(made: MonkeyRun, by: str, done: Counter[str]) -> int:
    """Print the results; return exit code 0 if all are within their limits."""
    print(f"{by}: {done.total()} actions, each of {len(done)} kinds at least {min(done.values())} times; no failure")
    slow = sorted((ms for ms in made.stalls if ms >= 100), reverse=True)
    frozen = [ms for ms in slow if ms >= FROZEN_MS]
    print(f"  stalls over 100 ms: {len(slow)}, the longest {slow[:10]}; from {FROZEN_MS} ms on: {len(frozen)}")
    if frozen:
        make_artifact_folder()
        (ARTIFACTS / f"{by}.stalls").write_text((made.home / "stalls.log").read_text())
    grown = 0.0
    for life in made.samples:
        megabytes, handles = growth(life)
        last = f"{life[-1].megabytes:.0f} MB" if life else "nothing"
        print(f"  {len(life)} actions in one window: {megabytes:+.1f} MB, {handles:+} handles, {last} at the end")
        grown = max(grown, megabytes / MAX_GROWTH_MB, handles / MAX_NEW_HANDLES)
    return int(grown > 1 or bool(frozen))


def growth(life: list[ProcessSample]) -> tuple[float, int]:
    """Return the growth in megabytes and handles, from the first to the last quarter after the warm-up.

    Compares the minimum of each quarter, which ignores temporary peaks.
    """
    rest = life[WARM_UP_ACTIONS:]
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
