"""Every tool there is, in one table, and how the arguments of a call are read."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from core.domain.problems import Problem
from core.models.model import ToolSpec
from core.tools.ask import AskUser
from core.tools.decide import DECIDE
from core.tools.edit import EDIT
from core.tools.find import FIND
from core.tools.patch import PATCH
from core.tools.read import READ
from core.tools.report import REPORT
from core.tools.run import RUN
from core.tools.schema import read_strictly, schema_of
from core.tools.search import SEARCH
from core.tools.todo import TODO
from core.tools.tool import Tool
from core.tools.write import WRITE

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {tool.name: tool for tool in (READ, WRITE, EDIT, PATCH, FIND, SEARCH, RUN, TODO, DECIDE, REPORT)}
)
ASK = "ask_user"
ASK_DESCRIPTION = (
    "Ask the person one question and wait for the answer. Offer up to four options where you can; "
    "say in `why` what hangs on it."
)

_READERS: Mapping[str, TypeAdapter[Any]] = MappingProxyType(
    {
        name: TypeAdapter(type_)
        for name, type_ in ({tool.name: tool.parameters for tool in TOOLS.values()} | {ASK: AskUser}).items()
    }
)


def names() -> tuple[str, ...]:
    """Of every tool, and of the question to the person."""
    return (*TOOLS, ASK)


def spec(tool: Tool) -> ToolSpec:
    """A tool as a model is told of it."""
    return ToolSpec(tool.name, tool.description, schema_of(_READERS[tool.name]))


def specs(among: Collection[str] = ()) -> tuple[ToolSpec, ...]:
    """Every tool, and the question to the person; only those named where some are."""
    whole = (*map(spec, TOOLS.values()), ToolSpec(ASK, ASK_DESCRIPTION, schema_of(_READERS[ASK])))
    return tuple(one for one in whole if not among or one.name in among)


def read_arguments(tool: str, arguments: str, among: Collection[str] = ()) -> Any:
    """The parameters of a call; what is wrong with them is said so that a model can mend it."""
    reader = _READERS.get(tool) if not among or tool in among else None
    if reader is None:
        known = [name for name in _READERS if not among or name in among]
        near = get_close_matches(tool, known, n=1)
        raise Problem(
            f"There is no tool {tool!r}.",
            f"Did you mean {near[0]!r}?" if near else "",
            f"The tools are: {', '.join(sorted(known))}.",
        )
    return read_strictly(tool, reader, arguments)
