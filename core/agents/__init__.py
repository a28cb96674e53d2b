"""External agents: programs that run tasks in a folder, connected over the Agent Client Protocol (ACP).

Here is only the client side of the protocol; what their tool calls may do is decided in `core.engine`.
"""
