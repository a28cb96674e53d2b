"""Tests of core/memory."""
