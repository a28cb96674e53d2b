"""The user's settings file, and API keys in the operating system's keyring.

The values themselves are used elsewhere: providers in `core.models`, MCP servers in `core.mcp`.
"""
