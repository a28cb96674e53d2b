"""The `more_tools` tool: offers rarely used tools, whose definitions would otherwise be part of every request."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.problems import Problem
from core.tools.parameter_description import ParameterDescription
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext

# The tools that are offered only after a call of `more_tools`, each with its purpose.
DEFERRED_TOOLS: Mapping[str, str] = MappingProxyType(
    {
        "patch": "apply a unified diff",
        "decide": "record a decision",
        "remember": "save a memory",
        "forget": "drop a memory",
        "search_sessions": "search earlier sessions in this folder",
        "delegate": "start a sub-agent",
        "manage_skill": "propose a skill",
    }
)
# Tools that are useless without another tool, and are therefore enabled together with it.
COMPANIONS: Mapping[str, tuple[str, ...]] = MappingProxyType({"delegate": ("check_agent",)})
MORE_TOOLS_NAME = "more_tools"


@dataclass(frozen=True, slots=True)
class MoreToolsArguments:
    names: Annotated[
        tuple[str, ...], MinLen(1), MaxLen(len(DEFERRED_TOOLS)), ParameterDescription("The tools to enable.")
    ]


async def run(parameters: MoreToolsArguments, context: ToolContext) -> ToolResult:
    if unknown := [name for name in parameters.names if name not in DEFERRED_TOOLS]:
        raise Problem(f"There is no further tool {unknown[0]!r}.", "", f"The tools are: {', '.join(DEFERRED_TOOLS)}.")
    return ToolResult(f"You can call {' and '.join(parameters.names)} from your next reply on.")


def enabled_tools(arguments: str) -> frozenset[str]:
    """Return the tools that a successful call of `more_tools` with these arguments enabled."""
    return frozenset(json.loads(arguments)["names"])


def more_tools_description(allowed: Collection[str]) -> str:
    """Return the description of `more_tools`, which lists the deferred tools among those that the run may call."""
    listed = "; ".join(f"{name}: {use}" for name, use in DEFERRED_TOOLS.items() if name in allowed)
    return f"Enable further tools before you call them. {listed}."


MORE_TOOLS = Tool(
    name=MORE_TOOLS_NAME,
    description=more_tools_description(DEFERRED_TOOLS),
    parameters=MoreToolsArguments,
    kind="more_tools",
    access="none",
    describe=lambda parameters: ", ".join(parameters.names),
    run=run,
)
