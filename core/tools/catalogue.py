"""The table of all tools, their definitions for the model, and the parsing of call arguments."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from core.domain.problems import Problem
from core.models.model import ToolSpec
from core.tools.arguments import parse_strictly, schema_of
from core.tools.ask_user import AskUserArguments
from core.tools.check import CHECK
from core.tools.check_agent import CHECK_AGENT, CHECK_AGENT_DESCRIPTION, CheckAgentArguments
from core.tools.decide import DECIDE
from core.tools.delegate import DESCRIPTION as DELEGATE_DESCRIPTION
from core.tools.delegate import NAME as DELEGATE
from core.tools.delegate import DelegateArguments
from core.tools.edit import EDIT
from core.tools.fetch import FETCH
from core.tools.find import FIND
from core.tools.former_names import current_arguments, current_tool
from core.tools.mcp_tools import mcp_server_of, mcp_tool, parse_mcp_call
from core.tools.memory_tools import FORGET, RECALL_TOOL, REMEMBER
from core.tools.more_tools import COMPANIONS, DEFERRED_TOOLS, MORE_TOOLS, MORE_TOOLS_NAME, more_tools_description
from core.tools.patch import PATCH
from core.tools.read import READ
from core.tools.recall_dropped import RECALL_DROPPED, RECALL_DROPPED_DESCRIPTION, RecallDroppedArguments
from core.tools.report_issue import REPORT_ISSUE
from core.tools.run import RUN
from core.tools.search import SEARCH
from core.tools.search_sessions import SEARCH_SESSIONS, SEARCH_SESSIONS_DESCRIPTION, SearchSessionsArguments
from core.tools.search_web import SEARCH_WEB
from core.tools.skill_tools import (
    MANAGE_DESCRIPTION,
    MANAGE_SKILL,
    USE_DESCRIPTION,
    USE_SKILL,
    ManageSkillArguments,
    UseSkillArguments,
)
from core.tools.todo import TODO
from core.tools.tool import Tool
from core.tools.write import WRITE

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_ALL = (
    READ,
    WRITE,
    EDIT,
    PATCH,
    FIND,
    SEARCH,
    RUN,
    CHECK,
    FETCH,
    SEARCH_WEB,
    TODO,
    DECIDE,
    REPORT_ISSUE,
    REMEMBER,
    RECALL_TOOL,
    FORGET,
    MORE_TOOLS,
)
TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in _ALL})
ASK = "ask_user"
COMPACT_TOOLS = ("read", "write", "edit", "run", ASK)  # the only built-in tools offered with the compact prompt
COMPACT_PARAMETERS: Mapping[str, tuple[str, ...]] = MappingProxyType({"run": ("command",), ASK: ("question",)})
ASK_DESCRIPTION = "Ask the user a question and wait for the answer. Offer up to four options where possible."


class EngineTool(NamedTuple):
    """A tool whose calls the engine executes itself: its description and the class of its parameters."""

    description: str
    parameters: type[Any]


ENGINE_TOOLS: Mapping[str, EngineTool] = MappingProxyType(
    {
        ASK: EngineTool(ASK_DESCRIPTION, AskUserArguments),
        DELEGATE: EngineTool(DELEGATE_DESCRIPTION, DelegateArguments),
        CHECK_AGENT: EngineTool(CHECK_AGENT_DESCRIPTION, CheckAgentArguments),
        RECALL_DROPPED: EngineTool(RECALL_DROPPED_DESCRIPTION, RecallDroppedArguments),
        SEARCH_SESSIONS: EngineTool(SEARCH_SESSIONS_DESCRIPTION, SearchSessionsArguments),
        USE_SKILL: EngineTool(USE_DESCRIPTION, UseSkillArguments),
        MANAGE_SKILL: EngineTool(MANAGE_DESCRIPTION, ManageSkillArguments),
    }
)
_PARAMETERS: Mapping[str, type[Any]] = MappingProxyType(
    {name: tool.parameters for name, tool in TOOLS.items()}
    | {name: engine_tool.parameters for name, engine_tool in ENGINE_TOOLS.items()}
)


@cache
def _reader(name: str) -> "TypeAdapter[Any]":
    # Import pydantic at the first call only, because importing it delays the opening of the window.
    from pydantic import TypeAdapter

    return TypeAdapter(_PARAMETERS[name])


@cache
def _schema(name: str) -> Mapping[str, Any]:
    return schema_of(_reader(name))


def tool_names() -> tuple[str, ...]:
    """Return the names of all built-in tools, including ENGINE_TOOLS."""
    return (*TOOLS, *ENGINE_TOOLS)


def tool_named(name: str) -> Tool | None:
    """Return the tool with this name: a built-in one, or a tool of an MCP server, which need not be running.

    Return None for an unknown name, and for ENGINE_TOOLS.
    """
    name = current_tool(name)
    return TOOLS.get(name) or (mcp_tool(name) if mcp_server_of(name) else None)


def tool_spec(tool: Tool) -> ToolSpec:
    """Return the definition of a tool that is sent to the model."""
    return ToolSpec(tool.name, tool.description, _schema(tool.name))


def tool_specs(
    allowed: Collection[str] = (), enabled: Collection[str] = (), *, compacted: bool = True, compact: bool = False
) -> tuple[ToolSpec, ...]:
    """Return the definitions to offer for the tools named in `allowed`, or of all built-in tools if it is empty.

    Args:
        enabled: the deferred tools that `more_tools` enabled; the others are left out if the run has `more_tools`.
        compacted: the context was compacted, so `recall_dropped` can be used.
        compact: leave out the parameters that models rarely need, although calls may have them.
    """
    engine_specs = (ToolSpec(name, tool.description, _schema(name)) for name, tool in ENGINE_TOOLS.items())
    hidden = set() if compacted else {RECALL_DROPPED}
    if MORE_TOOLS_NAME in allowed:
        deferred = DEFERRED_TOOLS.keys() - set(enabled)
        hidden |= deferred.union(*(COMPANIONS.get(name, ()) for name in deferred))
    offered = (spec for spec in (*map(tool_spec, TOOLS.values()), *engine_specs) if _is_among(spec.name, allowed))
    return tuple(_for_run(spec, allowed, compact) for spec in offered if spec.name not in hidden)


def _for_run(spec: ToolSpec, allowed: Collection[str], compact: bool) -> ToolSpec:
    if spec.name == MORE_TOOLS_NAME and allowed:
        return replace(spec, description=more_tools_description(allowed))
    if compact and (parameter_names := COMPACT_PARAMETERS.get(spec.name)):
        properties = {name: schema for name, schema in spec.parameters["properties"].items() if name in parameter_names}
        return replace(spec, parameters={**spec.parameters, "properties": properties})
    return spec


def read_arguments(tool: str, arguments: str, allowed: Collection[str] = ()) -> Any:
    """Return the parameters of a call; if they are invalid, raise a Problem with the fix for the model.

    `allowed` are the tools of the run; if it is empty, the run has all of them. Former names are accepted, because a
    replay or a resumed session reads calls of existing events.
    """
    tool = current_tool(tool)
    if tool in _PARAMETERS and _is_among(tool, allowed):
        return parse_strictly(tool, _reader(tool), arguments, partial(current_arguments, tool))
    if mcp_server_of(tool) and tool in allowed:
        return parse_mcp_call(tool, arguments)
    names = [name for name in _PARAMETERS if _is_among(name, allowed)]
    matches = get_close_matches(tool, names, n=1)
    raise Problem(
        f"There is no tool {tool!r}.",
        f"Did you mean {matches[0]!r}?" if matches else "",
        f"The tools are: {', '.join(sorted({*names, *map(current_tool, allowed)}))}.",
    )


def _is_among(tool: str, names: Collection[str]) -> bool:
    return (
        not names
        or tool == RECALL_DROPPED
        or tool in map(current_tool, names)
        or any(tool in COMPANIONS.get(name, ()) for name in names)
    )
