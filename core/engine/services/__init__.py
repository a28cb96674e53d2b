"""Services outside of runs: providers, skills, memory, proposals, MCP servers, hooks and slash commands.

The loop of a run is in `core.engine.run`.
"""
