"""Soak test: hours of use with random faults, kills and restarts; `python -m tests.soak --minutes N`."""
