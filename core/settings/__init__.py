"""The user's settings file, and API keys in the operating system's keyring.

Other packages use the values: `core.models` the providers, `core.mcp` the MCP servers.
"""
