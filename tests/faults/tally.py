"""How tests report the number of faults they injected, which `python -m tests.faults` adds up by case."""

from collections.abc import Callable

CountFaults = Callable[[int], None]
PROPERTY = "faults_tried"
