"""The diff view, which is used for changes, permission requests, skills and memories. The modules here know nothing of
sessions and the engine.
"""
