"""Tests of the Decisions tab."""
