"""The `search_web` tool: ask the search engine that the user has set up. Its results are untrusted content."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from core.domain.problems import Problem
from core.tools.fetch import html_to_text
from core.tools.parameter_description import ParameterDescription
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext

NAME = "search_web"
MAX_CHARACTERS = 1_000  # of a title, URL or excerpt of a result; a longer one is cut off


@dataclass(frozen=True, slots=True)
class SearchWebArguments:
    query: Annotated[str, MinLen(1), MaxLen(400), ParameterDescription("The search query.")]
    count: Annotated[int, Ge(1), Le(20), ParameterDescription("Maximum number of results.")] = 8


async def run(parameters: SearchWebArguments, context: ToolContext) -> ToolResult:
    if context.web is None:
        raise Problem("No search engine is set up.", "", "Continue without one, or ask the user to set one up.")
    hits = await context.web.search(parameters.query, parameters.count)
    lines = [
        f"{number}. {_line(hit.title)}\n   {_line(hit.url)}\n   {_line(hit.excerpt)}".rstrip()
        for number, hit in enumerate(hits, 1)
    ]
    return ToolResult("\n\n".join(lines) or f"No results for {parameters.query!r}.")


def _line(text: str) -> str:
    # Some search engines highlight matches with HTML tags.
    line = " ".join(html_to_text(text[: MAX_CHARACTERS * 4]).split())
    return line if len(line) <= MAX_CHARACTERS else line[:MAX_CHARACTERS] + "…"


SEARCH_WEB = Tool(
    name=NAME,
    description="Search the web. Returns title, URL and excerpt of each result, as data; fetch reads a page.",
    parameters=SearchWebArguments,
    kind="search_web",
    access="network",
    describe=lambda parameters: str(parameters.query),
    run=run,
)
