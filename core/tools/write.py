"""Write a text file, whole."""

import asyncio
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from core.tools.read import load
from core.tools.tool import Change, Result, Tool
from core.workspace.paths import inside


@dataclass(frozen=True, slots=True)
class Write:
    path: str
    content: str


async def run(parameters: Write, workspace: Path) -> Result:
    return await asyncio.to_thread(_write, parameters, workspace)


def _write(parameters: Write, workspace: Path) -> Result:
    path = inside(workspace, parameters.path)
    before = load(path, parameters.path) if path.exists() else None
    after = parameters.content.encode("utf-8", "replace")
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, after)
    what = "Wrote" if before is None else "Replaced"
    changes = () if before == after else (Change(parameters.path, before, after),)
    return Result(f"{what} {parameters.path} ({len(after):,} bytes).", changes=changes)


def replace_file(path: Path, body: bytes) -> None:
    """All of the new contents or all of the old, never a mixture."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".journeyman-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


WRITE = Tool(
    name="write",
    description="Write a text file of the folder, replacing what it held. Folders on the way are made.",
    parameters=Write,
    kind="write",
    touches="writes",
    object=lambda parameters: str(parameters.path),
    run=run,
)
