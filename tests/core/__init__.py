"""Tests of core, in the same folder structure."""
