"""Tests of sessions that leave and arrive."""
