"""External agents over the Agent Client Protocol, whose updates become events of a session.

The protocol itself is in `core.agents`.
"""
