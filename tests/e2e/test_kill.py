"""`kill -9` of the real program loses no acknowledged event and repeats no tool call."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.killed_run import ROUNDS, KillableRun, check_recovery, kill_after_lines, kill_at_write

FULL = os.environ.get("JOURNEYMAN_FAULTS") == "full"
LINES = 3 + ROUNDS * 4  # minimum number of events of a complete run
STEP = 7


@pytest.mark.parametrize("number", range(50 if FULL else 6))
def test_killed_at_a_random_moment(tmp_path: Path, number: int, record_property: Callable[[str, object], None]) -> None:
    record_property("faults_tried", 1)
    chance = random.Random(number)
    place = KillableRun.make(tmp_path)
    kill_after_lines(place, chance.randrange(1, LINES))
    check_recovery(place)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace kills at a chosen write")
@pytest.mark.parametrize("first", range(1, 1 + STEP * 8, STEP) if FULL else (15, 190))
def test_killed_at_a_write(tmp_path: Path, first: int, record_property: Callable[[str, object], None]) -> None:
    """Kill at every 7th write; each of eight tests takes every 8th of these, so that they can run in parallel."""
    number = first
    while True:
        place = KillableRun.make(tmp_path / str(number))
        killed = kill_at_write(place, number)
        check_recovery(place)
        record_property("faults_tried", int(killed))
        number += STEP * 8
        if not killed or not FULL:
            break
