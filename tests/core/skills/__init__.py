"""Tests of core.skills."""
