"""`kill -9` of the real program loses nothing that was said and repeats nothing that was done."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.killing import ROUNDS, Place, judge, kill_after_lines, kill_at_write

FULL = os.environ.get("JOURNEYMAN_FAULTS") == "full"
LINES = 3 + ROUNDS * 4  # facts of a whole run, at least
STEP = 7


@pytest.mark.parametrize("number", range(50 if FULL else 6))
def test_killed_at_a_random_moment(tmp_path: Path, number: int, record_property: Callable[[str, object], None]) -> None:
    record_property("faults_tried", 1)
    chance = random.Random(number)
    place = Place.make(tmp_path)
    kill_after_lines(place, chance.randrange(1, LINES))
    judge(place)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace kills at a chosen write")
@pytest.mark.parametrize("first", range(1, 1 + STEP * 8, STEP) if FULL else (15, 190))
def test_killed_at_a_write(tmp_path: Path, first: int, record_property: Callable[[str, object], None]) -> None:
    """Every 7th write: each test takes every 8th of those, so that they share the processors."""
    number = first
    while True:
        place = Place.make(tmp_path / str(number))
        killed = kill_at_write(place, number)
        judge(place)
        record_property("faults_tried", int(killed))
        number += STEP * 8
        if not killed or not FULL:
            break
