"""Every tool there is, in one table, and how the arguments of a call are read."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from core.domain.problems import Problem
from core.models.model import ToolSpec
from core.tools.ask import AskUser
from core.tools.check import CHECK
from core.tools.decide import DECIDE
from core.tools.delegate import DESCRIPTION as DELEGATE_DESCRIPTION
from core.tools.delegate import NAME as DELEGATE
from core.tools.delegate import Delegate
from core.tools.edit import EDIT
from core.tools.fetch import FETCH
from core.tools.find import FIND
from core.tools.memory import FORGET, RECALL_TOOL, REMEMBER
from core.tools.patch import PATCH
from core.tools.read import READ
from core.tools.recall import DESCRIPTION, RECALL, Recall
from core.tools.report import REPORT
from core.tools.run import RUN
from core.tools.schema import read_strictly, schema_of
from core.tools.search import SEARCH
from core.tools.search_web import SEARCH_WEB
from core.tools.server_tools import read_call, server_of, server_tool
from core.tools.skill import MANAGE_DESCRIPTION, MANAGE_SKILL, USE_DESCRIPTION, USE_SKILL, ManageSkill, UseSkill
from core.tools.todo import TODO
from core.tools.tool import Tool
from core.tools.write import WRITE

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_ACTS = (READ, WRITE, EDIT, PATCH, FIND, SEARCH, RUN, CHECK, FETCH, SEARCH_WEB, TODO, DECIDE, REPORT)
_ALL = (*_ACTS, REMEMBER, RECALL_TOOL, FORGET)
TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in _ALL})
ASK = "ask_user"
ASK_DESCRIPTION = (
    "Ask the person one question and wait for the answer. Offer up to four options where you can; "
    "say in `why` what hangs on it."
)

# What the engine itself does: what a model is told of it, and what it takes.
OWN: Mapping[str, tuple[str, type[Any]]] = MappingProxyType(
    {
        ASK: (ASK_DESCRIPTION, AskUser),
        DELEGATE: (DELEGATE_DESCRIPTION, Delegate),
        RECALL: (DESCRIPTION, Recall),
        USE_SKILL: (USE_DESCRIPTION, UseSkill),
        MANAGE_SKILL: (MANAGE_DESCRIPTION, ManageSkill),
    }
)
_PARAMETERS: Mapping[str, type[Any]] = MappingProxyType(
    {name: tool.parameters for name, tool in TOOLS.items()} | {name: takes for name, (_, takes) in OWN.items()}
)


@cache
def _reader(name: str) -> "TypeAdapter[Any]":
    """Of the arguments of a tool, made when the first call comes."""
    from pydantic import TypeAdapter

    return TypeAdapter(_PARAMETERS[name])


def names() -> tuple[str, ...]:
    """Of every tool, and of what the engine itself does."""
    return (*TOOLS, *OWN)


def tool_named(name: str) -> Tool | None:
    """One of ours, or one of a server, whether that is there or not; None of what the engine itself does."""
    return TOOLS.get(name) or (server_tool(name) if server_of(name) else None)


def spec(tool: Tool) -> ToolSpec:
    """A tool as a model is told of it."""
    return ToolSpec(tool.name, tool.description, schema_of(_reader(tool.name)))


def specs(among: Collection[str] = ()) -> tuple[ToolSpec, ...]:
    """Every tool, and what the engine itself does; only those named where some are, and what was dropped always."""
    own = (ToolSpec(name, said, schema_of(_reader(name))) for name, (said, _) in OWN.items())
    whole = (*map(spec, TOOLS.values()), *own)
    return tuple(one for one in whole if not among or one.name in among or one.name == RECALL)


def read_arguments(tool: str, arguments: str, among: Collection[str] = ()) -> Any:
    """The parameters of a call; what is wrong with them is said so that a model can mend it."""
    if tool in _PARAMETERS and _is_among(tool, among):
        return read_strictly(tool, _reader(tool), arguments)
    if server_of(tool) and tool in among:
        return read_call(tool, arguments)
    known = [name for name in _PARAMETERS if _is_among(name, among)]
    near = get_close_matches(tool, known, n=1)
    raise Problem(
        f"There is no tool {tool!r}.",
        f"Did you mean {near[0]!r}?" if near else "",
        f"The tools are: {', '.join(sorted({*known, *among}))}.",
    )


def _is_among(tool: str, among: Collection[str]) -> bool:
    return not among or tool in among or tool == RECALL
