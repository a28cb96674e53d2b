"""Tests of ui/ask."""
