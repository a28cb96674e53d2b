"""Tests of the workspace: file access, sandbox, scans and commands."""
