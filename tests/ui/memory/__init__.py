"""Tests of the page of memories."""
