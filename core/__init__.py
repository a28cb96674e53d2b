"""Everything that works without a window."""

__version__ = "0.1.0"
