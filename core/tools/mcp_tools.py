"""The tools of MCP servers: their definitions for the model, and their calls."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.domain.problems import Problem
from core.mcp.tool_definition import NAME_SEPARATOR, tool_rejection
from core.models.model import ToolSpec
from core.settings.schema import McpServerSettings
from core.tools.arguments import parse_object
from core.tools.tool import MediaContent, Tool, ToolResult
from core.tools.tool_context import ToolContext

MAX_PROGRESS_CHARS = 500  # of a message about progress, which is shown while the call runs


@dataclass(frozen=True, slots=True)
class McpCall:
    """A call to a tool of an MCP server, whose arguments `core.tools.argument_check` checks."""

    server: str
    tool: str
    arguments: Mapping[str, Any]


def mcp_tool_name(server: str, tool: str) -> str:
    return f"{server}{NAME_SEPARATOR}{tool}"


def mcp_server_of(tool: str) -> str:
    """Return the name of the MCP server of a tool; "" for a built-in one."""
    server, separator, _ = tool.partition(NAME_SEPARATOR)
    return server if separator else ""


def mcp_tool_specs(servers: tuple[McpServerSettings, ...]) -> dict[str, ToolSpec]:
    """Return the definitions of the enabled tools, with the descriptions that the user accepted."""
    return {
        mcp_tool_name(server.name, tool.name): ToolSpec(
            mcp_tool_name(server.name, tool.name), tool.description, json.loads(tool.input_schema)
        )
        for server in servers
        if server.enabled
        for tool in server.tools
        if tool.enabled and not tool_rejection(tool)
    }


def parse_mcp_call(name: str, arguments: str) -> McpCall:
    """Return a call with its arguments, not yet checked against the schema of the tool."""
    server, _, tool = name.partition(NAME_SEPARATOR)
    return McpCall(server, tool, parse_object(name, arguments))


def mcp_tool(name: str) -> Tool:
    """Return the tool with this name. Annotations of its server, such as `readOnlyHint`, are ignored as untrusted."""

    async def run(parameters: McpCall, context: ToolContext) -> ToolResult:
        if context.servers is None:
            raise Problem("MCP servers are not available.", "Journeyman was started with --safe.", "")

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if listener := context.output_listener():
                total_text = f"/{total:g}" if total else ""
                text = f"{progress:g}{total_text} {(message or '')[:MAX_PROGRESS_CHARS]}"
                listener(text.strip().encode(errors="replace") + b"\n")

        result = await context.servers.call_tool(
            parameters.server, parameters.tool, dict(parameters.arguments), on_progress, context.ask
        )
        media = tuple(MediaContent(image.name, image.media_type, image.body) for image in result.images)
        return ToolResult(result.text, failed=result.failed, media=media)

    return Tool(
        name=name,
        description="",
        parameters=McpCall,
        kind="tool",
        access="network",
        describe=lambda parameters: f"{parameters.tool} of {parameters.server}",
        run=run,
    )
