"""Tests of core/store."""
