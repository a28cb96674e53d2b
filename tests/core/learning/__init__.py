"""Tests of session reviews."""
