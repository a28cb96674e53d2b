"""Tests of what replies come from."""
