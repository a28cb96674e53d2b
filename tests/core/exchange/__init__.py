"""Tests of core.exchange."""
