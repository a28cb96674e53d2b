"""The `Engine` class, through which the window, the command line and the ACP server use everything in `core`.

It contains no logic and delegates to the other packages of `core.engine`.
"""
