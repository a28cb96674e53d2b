"""The short version of the monkey test in a real window: once with the mouse, once with the keyboard alone."""

import random
from pathlib import Path

import pytest

from tests.e2e.accessibility import AccessibilityBus
from tests.e2e.screen import Screen
from tests.monkey.actions import ACTIONS, SHORT, do_action
from tests.monkey.input_methods import INPUT_METHODS
from tests.monkey.monkey_run import MonkeyRun
from tests.monkey.scripted_provider import scripted_provider


@pytest.mark.parametrize("by", INPUT_METHODS)
def test_a_short_random_walk(by: str, display: Screen, accessibility_bus: AccessibilityBus, tmp_path: Path) -> None:
    """`dev.py test --walk` runs all actions in random order for an hour."""
    acts = {act.name: act for act in ACTIONS}
    with scripted_provider() as url:
        walk = MonkeyRun(display, accessibility_bus, tmp_path / "person", url, by, random.Random(1))
        try:
            walk.open()
            for name in SHORT:
                assert acts[name].precondition(walk), name
                do_action(walk, acts[name])
            walk.quit()
            walk.program.report_stalls()
        finally:
            walk.close()
