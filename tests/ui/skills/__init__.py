"""Tests of the Skills page."""
