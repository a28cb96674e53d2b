"""Tests of the Changes tab."""
