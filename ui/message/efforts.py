"""The reasoning efforts that the user can choose. The empty one stands for the default of the model."""

from typing import Final

EFFORTS: Final = ("", "none", "minimal", "low", "medium", "high", "xhigh", "max")
