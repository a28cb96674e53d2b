"""Numbered changes of the file, each made once, in one transaction."""
