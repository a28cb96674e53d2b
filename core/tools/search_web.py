"""Search the web by the engine a person set; its words come back as those of strangers."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from core.domain.problems import Problem
from core.tools.fetch import as_text
from core.tools.place import Place
from core.tools.says import Says
from core.tools.tool import Result, Tool

NAME = "search_web"
LONGEST = 1_000  # characters of one hit


@dataclass(frozen=True, slots=True)
class SearchWeb:
    query: Annotated[str, MinLen(1), MaxLen(400), Says("What to look for, as typed into a search engine.")]
    count: Annotated[int, Ge(1), Le(20), Says("How many places at most.")] = 8


async def run(parameters: SearchWeb, place: Place) -> Result:
    if place.web is None:
        raise Problem("No search engine is set.", "", "Do without, or ask the person to set one.")
    hits = await place.web.search(parameters.query, parameters.count)
    told = [
        f"{number}. {_line(hit.title)}\n   {_line(hit.url)}\n   {_line(hit.words)}".rstrip()
        for number, hit in enumerate(hits, 1)
    ]
    return Result("\n\n".join(told) or f"Nothing was found for {parameters.query!r}.")


def _line(words: str) -> str:
    """Engines mark what fits with tags."""
    plain = " ".join(as_text(words[: LONGEST * 4]).split())
    return plain if len(plain) <= LONGEST else plain[:LONGEST] + "…"


SEARCH_WEB = Tool(
    name=NAME,
    description="Search the web. Titles, addresses and a few words of each place come back, as data; fetch reads one.",
    parameters=SearchWeb,
    kind="search_web",
    touches="network",
    object=lambda parameters: str(parameters.query),
    run=run,
)
