"""Tests of the folder an agent works in, and of the walls around it."""
