"""The state of a session, derived from its event log: the conversation, limits and unresolved calls.

Nothing here performs I/O or starts work.
"""
