"""Sample MCP servers for the screenshots of the settings."""

from typing import Final

from core.domain.problems import ErrorDetails
from core.engine.services.mcp_servers import McpOverview, McpServerRow, ProjectMcpServer
from core.mcp.server_state import McpServerState
from core.settings.schema import McpServerSettings, McpToolSettings, McpVariable

LETTERS: Final = McpServerSettings(
    name="letters", command="npx", args=("-y", "@example/letters", "~/Letters"),
    tools=(
        McpToolSettings(name="find_letter", description="Finds letters by words in them."),
        McpToolSettings(name="send_letter", description="Sends a letter to the printer.", enabled=False),
    ),
)  # fmt: skip
WEATHER: Final = McpServerSettings(
    name="weather", url="https://weather.example.org/mcp", variables=(McpVariable(name="Authorization"),),
    tools=(McpToolSettings(name="forecast", description="The weather of the next days at a place."),),
)  # fmt: skip
ENDED: Final = ErrorDetails("The MCP server archive did not start.", "There is no program archive-mcp.", "")
ARCHIVE: Final = McpServerSettings(name="archive", command="archive-mcp", args=("--read-only",))
SERVERS: Final = McpOverview(
    (
        McpServerRow(LETTERS, McpServerState("letters", "open")),
        McpServerRow(WEATHER, McpServerState("weather"), ("Authorization",)),
        McpServerRow(ARCHIVE, McpServerState("archive", "failed", ENDED)),
    ),
    (ProjectMcpServer("~/Projects/garden", McpServerSettings(name="plants", command="uvx", args=("plants-mcp",))),),
)
