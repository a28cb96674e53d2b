"""The folder that an agent works in: safe file access, the sandbox for commands, and the changes that they make.

Nothing here knows about models, tools or sessions.
"""
