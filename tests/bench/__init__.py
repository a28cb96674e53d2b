"""Benchmarks of speed and endurance; each prints its results as plain lines."""
