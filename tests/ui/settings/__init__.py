"""Tests of ui/settings."""
