"""Tests of the palette."""
