"""External agents: programs that run tasks in a folder, connected over the Agent Client Protocol (ACP).

This package contains only the client side of the protocol. `core.engine` decides which tool calls are allowed.
"""
