"""The tools, tried in temp folders."""
