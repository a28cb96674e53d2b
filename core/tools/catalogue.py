"""Every tool there is, in one table, and how the arguments of a call are read."""

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.domain.problems import Problem
from core.tools.ask import AskUser
from core.tools.read import READ
from core.tools.run import RUN
from core.tools.tool import Tool
from core.tools.write import WRITE

TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in (READ, WRITE, RUN)})
ASK = "ask_user"

_READERS: Mapping[str, TypeAdapter[Any]] = MappingProxyType(
    {
        name: TypeAdapter(type_)
        for name, type_ in ({tool.name: tool.parameters for tool in TOOLS.values()} | {ASK: AskUser}).items()
    }
)


def read_arguments(tool: str, arguments: str) -> Any:
    """The parameters of a call; what is wrong with them is said so that a model can mend it."""
    reader = _READERS.get(tool)
    if reader is None:
        near = get_close_matches(tool, _READERS, n=1)
        raise Problem(
            f"There is no tool {tool!r}.",
            f"Did you mean {near[0]!r}?" if near else "",
            f"The tools are: {', '.join(sorted(_READERS))}.",
        )
    try:
        return reader.validate_json(arguments or "{}", strict=False, extra="forbid")
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()[:5])
        raise Problem(f"The arguments of {tool} are wrong.", f"{wrong}.", "Correct them and call again.") from error
