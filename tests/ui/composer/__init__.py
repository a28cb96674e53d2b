"""Tests of ui/composer."""
