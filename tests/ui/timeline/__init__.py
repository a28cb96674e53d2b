"""Tests of the run page."""
