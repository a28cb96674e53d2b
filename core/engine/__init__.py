"""The engine: starts, executes, pauses, resumes and stops runs, and answers queries about sessions.

It has no user interface; the window, the command line and the ACP server call it. Storage is in `core.store`, and the
model providers are in `core.models`.
"""
