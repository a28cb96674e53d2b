"""Write a text file, whole."""

from dataclasses import dataclass
from pathlib import Path

from core.tools.seen import digest
from core.tools.tool import Change, Result, Tool, to_its_end
from core.workspace.broker import Broker


@dataclass(frozen=True, slots=True)
class Write:
    path: str
    content: str


async def run(parameters: Write, workspace: Path) -> Result:
    return await to_its_end(_write, parameters, workspace)


def _write(parameters: Write, workspace: Path) -> Result:
    after = parameters.content.encode("utf-8", "replace")
    with Broker(workspace) as broker:
        done = broker.write(parameters.path, after)
    what = "Wrote" if done.before is None else "Replaced"
    linked = " The file had another name too, which still holds the old text." if done.names > 1 else ""
    changes = () if done.before == after else (Change(parameters.path, done.before, after),)
    told = f"{what} {parameters.path} ({len(after):,} bytes).{linked}"
    return Result(told, changes=changes, seen=((parameters.path, digest(after)),))


WRITE = Tool(
    name="write",
    description="Write a text file of the folder, replacing what it held. Folders on the way are made.",
    parameters=Write,
    kind="write",
    touches="writes",
    object=lambda parameters: str(parameters.path),
    run=run,
)
