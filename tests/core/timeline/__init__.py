"""Tests of core/timeline."""
