"""Made-up tool servers, for pictures of their page."""

from typing import Final

from core.domain.problems import Trouble
from core.engine.servers import Brought, Overview, Row
from core.servers.health import State
from core.settings.schema import Given, ServerTool, ToolServer

LETTERS: Final = ToolServer(
    name="letters", command="npx", args=("-y", "@example/letters", "~/Letters"),
    tools=(
        ServerTool(name="find_letter", description="Finds letters by words in them."),
        ServerTool(name="send_letter", description="Sends a letter to the printer.", on=False),
    ),
)  # fmt: skip
WEATHER: Final = ToolServer(
    name="weather", url="https://weather.example.org/mcp", given=(Given(name="Authorization"),),
    tools=(ServerTool(name="forecast", description="The weather of the next days at a place."),),
)  # fmt: skip
ENDED: Final = Trouble("The tool server archive did not start.", "There is no program archive-mcp.", "")
ARCHIVE: Final = ToolServer(name="archive", command="archive-mcp", args=("--read-only",))
SERVERS: Final = Overview(
    (
        Row(LETTERS, State("letters", "open")),
        Row(WEATHER, State("weather"), ("Authorization",)),
        Row(ARCHIVE, State("archive", "failed", ENDED)),
    ),
    (Brought("~/Projects/garden", ToolServer(name="plants", command="uvx", args=("plants-mcp",))),),
)
