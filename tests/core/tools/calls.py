"""Helpers that call a tool as a run does, with arguments as JSON and the files that were read before."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.tools.catalogue import TOOLS, read_arguments
from core.tools.read_before_edit import content_digest
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import CallOutputListener, ToolContext, open_context
from core.workspace.sandbox import Sandbox


def call(workspace: Path, name: str, seen: Mapping[str, str] | None = None, **arguments: Any) -> ToolResult:
    """Return the result of a call; a Problem becomes a failed result, as for the model."""
    try:
        tool, parameters = TOOLS[name], read_arguments(name, json.dumps(arguments))
        if tool.with_known_files:
            parameters = tool.with_known_files(parameters, seen or {})
        return asyncio.run(use(tool, parameters, workspace))
    except Problem as problem:
        return ToolResult(str(problem), failed=True)


@asynccontextmanager
async def opened_context(
    folder: Path, sandbox: Sandbox | None = None, hear: CallOutputListener | None = None
) -> AsyncIterator[ToolContext]:
    """Open the context of a run."""
    place = open_context(folder, folder.parent, hear, (lambda: sandbox) if sandbox else None)
    try:
        yield place
    finally:
        await place.close()


async def use(tool: Tool, parameters: Any, folder: Path, sandbox: Sandbox | None = None) -> ToolResult:
    """Run a tool with parameters that were read already."""
    async with opened_context(folder, sandbox) as place:
        return await tool.run(parameters, place)


def seen(workspace: Path, *names: str) -> dict[str, str]:
    """Return the digests of files, as if they had just been read."""
    return {name: content_digest((workspace / name).read_bytes()) for name in names}


def create_files(folder: Path, **files: str | bytes) -> None:
    """Create files in a folder; `__` in a keyword stands for a slash, `_dot_` for a dot."""
    for keyword, body in files.items():
        create_file(folder, keyword.replace("__", "/").replace("_dot_", "."), body)


def create_file(folder: Path, name: str, body: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
