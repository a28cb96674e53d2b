"""Tests of the settings and the keys."""
