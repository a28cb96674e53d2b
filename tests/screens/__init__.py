"""Sample data, and every screen of the app built from it, for screenshots.

Tests of the screens are in `tests.ui`.
"""
