"""Packages that the user installs: the index that pins them, and where their files come from.

What the files mean to an agent is in `core.engine.services`.
"""
