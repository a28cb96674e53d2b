"""The titles of the settings pages in the order of the list. The command palette has an entry for each page."""

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

# Longer titles in the command palette, so that a page is also found by the additional words.
COMMAND_TITLES: Final = {"Models and API keys": "Models, providers and API keys"}
