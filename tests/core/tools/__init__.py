"""Tests of what an agent can do."""
