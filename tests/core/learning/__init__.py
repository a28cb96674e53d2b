"""Tests of looking back."""
