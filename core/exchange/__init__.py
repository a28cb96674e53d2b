"""Sessions that leave for other programs, and those that others wrote."""
