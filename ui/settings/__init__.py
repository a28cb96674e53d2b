"""The Settings window: its pages, their controls, and the dialogs that add providers and MCP servers."""
