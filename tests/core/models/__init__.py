"""Models and their scripts."""
