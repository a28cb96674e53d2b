"""A new user's walk through the whole program in a real window: once with the mouse, once with the keyboard alone."""

import random
from pathlib import Path

import pytest

from tests.e2e.screen import Screen
from tests.e2e.tree import Bus
from tests.walk.acts import ACTS, SHORT, step
from tests.walk.hands import HANDS
from tests.walk.model import model
from tests.walk.walk import Walk


@pytest.mark.parametrize("by", HANDS)
def test_the_short_form_of_the_long_walk(by: str, display: Screen, told: Bus, tmp_path: Path) -> None:
    """`dev.py test --walk` does the same for an hour, in any order, and more."""
    acts = {act.name: act for act in ACTS}
    with model() as url:
        walk = Walk(display, told, tmp_path / "person", url, by, random.Random(1))
        try:
            walk.open()
            for name in SHORT:
                assert acts[name].needs(walk), name
                step(walk, acts[name])
            walk.end()
            walk.program.moved_freely()
        finally:
            walk.close()
