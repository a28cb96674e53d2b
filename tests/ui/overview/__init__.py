"""Tests of the Usage page."""
