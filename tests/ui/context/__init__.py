"""Tests of the Context tab."""
