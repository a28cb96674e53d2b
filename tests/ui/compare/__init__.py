"""Tests of the page that compares."""
