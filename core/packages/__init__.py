"""Packages that the user installs: where their files come from, and the index that records which files are trusted.

What the files mean to an agent is in `core.engine.services`.
"""
