"""Tests of core/agents, the client side of the Agent Client Protocol."""
