"""Tests of the window's parts with real widgets."""
