"""Past runs: fork, replay, rewind and analytics over stored sessions.

Nothing here continues a run; `core.engine.lifecycle` does.
"""
