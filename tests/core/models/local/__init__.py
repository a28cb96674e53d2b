"""Tests of core/models/local: downloads, and the processes that serve models."""
