"""The client side of the Model Context Protocol (MCP): connections, tool listings, tool calls and elicitation.

How tools of MCP servers are offered to the model is in `core.tools`; Journeyman is never an MCP server itself.
"""
