"""Tests of core/domain."""
