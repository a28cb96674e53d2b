"""Call a tool as a run does: arguments as JSON, what was seen before, the result."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.tools.catalogue import TOOLS, read_arguments
from core.tools.seen import digest
from core.tools.tool import Result


def call(workspace: Path, name: str, seen: Mapping[str, str] | None = None, **arguments: Any) -> Result:
    """The result of a call; a Problem is a result that failed, as it is for a model."""
    try:
        tool, parameters = TOOLS[name], read_arguments(name, json.dumps(arguments))
        if tool.knowing:
            parameters = tool.knowing(parameters, seen or {})
        return asyncio.run(_run(tool.run, parameters, workspace))
    except Problem as problem:
        return Result(str(problem), failed=True)


async def _run(run: Any, parameters: Any, workspace: Path) -> Result:
    result = await run(parameters, workspace)
    assert isinstance(result, Result)
    return result


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
