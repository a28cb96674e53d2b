"""The start screen: a form for a new session, and ways to get started. It does not call the engine; `ui/controllers`
connects both.
"""
