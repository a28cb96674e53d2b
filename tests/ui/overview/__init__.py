"""Tests of the Overview page."""
