"""The agent loop: requests, tool calls, permission requests, questions, the context budget and sub-agents.

Starting, stopping and resuming runs is in `core.engine.lifecycle`.
"""
