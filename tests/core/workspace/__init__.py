"""Folders and processes."""
