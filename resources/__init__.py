"""Themes, fonts, icons, prompts and the demo, read by path."""
