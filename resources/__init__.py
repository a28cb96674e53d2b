"""Themes, fonts, icons, help, prompts and the demo, which are read as files."""
