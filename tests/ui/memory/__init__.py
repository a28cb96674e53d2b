"""Tests of the Memory page."""
