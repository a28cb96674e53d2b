"""Tests of the tools, in temporary folders."""
