"""Tests of the page of use."""
