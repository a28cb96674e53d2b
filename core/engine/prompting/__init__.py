"""System prompts, session contexts, project instructions and agent profiles.

How a request is sent and how its context is kept within budget is in `core.engine.run`.
"""
