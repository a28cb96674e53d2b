"""The start screen: a form for a new session, and ways to get started.

It does not talk to the engine; `ui/controllers` connects it.
"""
