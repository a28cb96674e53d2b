"""The tools of tool servers, as agents are offered and call them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.domain.problems import Problem
from core.models.model import ToolSpec
from core.servers.told import BETWEEN, unfit
from core.settings.schema import ToolServer
from core.tools.place import Place
from core.tools.schema import read_object
from core.tools.tool import Result, Shown, Tool


@dataclass(frozen=True, slots=True)
class ServerCall:
    """Arguments that only the server itself understands."""

    server: str
    tool: str
    arguments: Mapping[str, Any]


def full_name(server: str, tool: str) -> str:
    return f"{server}{BETWEEN}{tool}"


def server_of(tool: str) -> str:
    """The name of the server that a tool is of; empty where it is one of ours."""
    server, between, _ = tool.partition(BETWEEN)
    return server if between else ""


def offered(servers: tuple[ToolServer, ...]) -> dict[str, ToolSpec]:
    """What agents are offered, in the words that a person accepted."""
    return {
        full_name(server.name, tool.name): ToolSpec(
            full_name(server.name, tool.name), tool.description, json.loads(tool.schema)
        )
        for server in servers
        if server.on
        for tool in server.tools
        if tool.on and not unfit(tool)
    }


def read_call(name: str, arguments: str) -> ServerCall:
    """The arguments of a call; whether they fit is for the server to say."""
    server, _, tool = name.partition(BETWEEN)
    return ServerCall(server, tool, read_object(name, arguments))


def server_tool(name: str) -> Tool:
    """The tool of this name. What its server says of it, that it only reads for one, counts for nothing."""

    async def run(parameters: ServerCall, place: Place) -> Result:
        if place.servers is None:
            raise Problem("No tool servers are used here.", "Journeyman was started with --safe.", "")

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            if tell := place.listener():
                of = f"/{total:g}" if total else ""
                tell(f"{progress:g}{of} {message or ''}".strip().encode() + b"\n")

        answer = await place.servers.call(
            parameters.server, parameters.tool, dict(parameters.arguments), hear, place.ask
        )
        shown = tuple(Shown(*picture) for picture in answer.pictures)
        return Result(answer.text, failed=answer.failed, shown=shown)

    return Tool(
        name=name, description="", parameters=ServerCall, kind="tool", touches="network",
        object=lambda parameters: f"{parameters.tool} of {parameters.server}", run=run,
    )  # fmt: skip
