"""Call a tool as a run does: arguments as JSON, what was seen before, the result."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.tools.catalogue import TOOLS, read_arguments
from core.tools.place import Hear, Place, open_place
from core.tools.seen import digest
from core.tools.tool import Result, Tool
from core.workspace.sandbox import Sandbox


def call(workspace: Path, name: str, seen: Mapping[str, str] | None = None, **arguments: Any) -> Result:
    """The result of a call; a Problem is a result that failed, as it is for a model."""
    try:
        tool, parameters = TOOLS[name], read_arguments(name, json.dumps(arguments))
        if tool.knowing:
            parameters = tool.knowing(parameters, seen or {})
        return asyncio.run(use(tool, parameters, workspace))
    except Problem as problem:
        return Result(str(problem), failed=True)


@asynccontextmanager
async def placed(folder: Path, sandbox: Sandbox | None = None, hear: Hear | None = None) -> AsyncIterator[Place]:
    """A place as a run has one."""
    place = open_place(folder, folder.parent, hear, (lambda: sandbox) if sandbox else None)
    try:
        yield place
    finally:
        await place.close()


async def use(tool: Tool, parameters: Any, folder: Path, sandbox: Sandbox | None = None) -> Result:
    """What a tool makes of parameters that were read."""
    async with placed(folder, sandbox) as place:
        return await tool.run(parameters, place)


def seen(workspace: Path, *names: str) -> dict[str, str]:
    """As if these files had just been read."""
    return {name: digest((workspace / name).read_bytes()) for name in names}


def lay(folder: Path, **files: str | bytes) -> None:
    """Files of a folder; `__` in a keyword is a slash, `_dot_` a dot."""
    for keyword, body in files.items():
        put(folder, keyword.replace("__", "/").replace("_dot_", "."), body)


def put(folder: Path, name: str, body: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
