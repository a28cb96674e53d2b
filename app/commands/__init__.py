"""The commands: each takes the engine, what was typed and where to print, and returns an exit code."""
