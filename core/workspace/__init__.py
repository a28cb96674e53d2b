"""The folder that an agent works in: safe file access, the sandbox for commands, and tracking of changes by commands.

Nothing here knows about models, tools or sessions.
"""
