"""The parameters of the `search_sessions` tool. The engine executes its calls, which read earlier sessions."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from core.tools.parameter_description import MAX_NUMBER, ParameterDescription

SEARCH_SESSIONS = "search_sessions"
SEARCH_SESSIONS_DESCRIPTION = (
    "Search earlier sessions in this folder for words, the newest matches first; or read around one match."
)


@dataclass(frozen=True, slots=True)
class SearchSessionsArguments:
    query: Annotated[str, MinLen(1), MaxLen(400), ParameterDescription("Words that must all occur.")]
    session: Annotated[
        str, ParameterDescription("Only this session; with `event`, read its run's report and the events around it.")
    ] = ""
    event: Annotated[int, Ge(0), Le(MAX_NUMBER), ParameterDescription("The number of a match in that session.")] = 0
