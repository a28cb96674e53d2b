"""How many faults were tried: each test says so, and `python -m tests.faults` adds them up by case."""

from collections.abc import Callable

Tried = Callable[[int], None]
NAME = "faults_tried"
