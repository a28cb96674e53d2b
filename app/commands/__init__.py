"""The commands. The function of each takes an Invocation (arguments, output, engine) and returns an exit code."""
