"""The diff view that the changes, permission requests, skills and memories share.

Nothing here knows sessions or the engine.
"""
