"""Write a text file, whole."""

import os
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from core.tools.read import load
from core.tools.tool import Change, Result, Tool, to_its_end
from core.workspace.paths import inside


@dataclass(frozen=True, slots=True)
class Write:
    path: str
    content: str


async def run(parameters: Write, workspace: Path) -> Result:
    return await to_its_end(_write, parameters, workspace)


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
    name = path.parent / f".journeyman-{token_hex(8)}"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        if path.exists():
            os.fchmod(handle, path.stat().st_mode & 0o777)
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        name.replace(path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


WRITE = Tool(
    name="write",
    description="Write a text file of the folder, replacing what it held. Folders on the way are made.",
    parameters=Write,
    kind="write",
    touches="writes",
    object=lambda parameters: str(parameters.path),
    run=run,
)
