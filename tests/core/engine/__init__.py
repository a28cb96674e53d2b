"""Tests of core/engine."""
