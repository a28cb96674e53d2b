"""Everything that works without a window."""
