"""The reasoning efforts that the user can choose; the empty one is the default of the model."""

from typing import Final

EFFORTS: Final = ("", "none", "minimal", "low", "medium", "high", "xhigh", "max")
