"""Tests of `ui`, in the same folder structure."""
