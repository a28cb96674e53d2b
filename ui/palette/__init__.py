"""The command palette, which is also used to choose a session.

The commands themselves are defined in `ui/shell`.
"""
