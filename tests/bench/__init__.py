"""Measurements of speed and of endurance, printed as plain lines."""
