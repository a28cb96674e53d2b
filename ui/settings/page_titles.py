"""The titles of the settings pages, in the order of the list; the palette has a command for each page."""

from typing import Final

SETTINGS_PAGES: Final = (
    "Appearance",
    "Models and API keys",
    "Local models",
    "Limits",
    "Memory and learning",
    "Web search",
    "Network",
    "External agents",
    "Agent profiles",
    "MCP servers",
    "Packages",
    "Permission rules",
    "Trusted folders",
    "Schedules",
    "Data",
)
