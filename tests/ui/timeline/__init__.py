"""Tests of ui/timeline, and the in-memory sessions that they use."""
