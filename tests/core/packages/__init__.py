"""Tests of the installed packages: where they come from, and how they are pinned."""
