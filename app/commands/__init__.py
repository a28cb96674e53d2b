"""The commands. Each takes a Context with the engine, the arguments and the output, and returns an exit code."""
