"""Journeyman as an agent for editors, over the Agent Client Protocol.

External agents that Journeyman runs are in `core.engine.external`.
"""
