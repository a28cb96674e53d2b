"""Write a text file, whole."""

from dataclasses import dataclass

from core.tools.files import refuse_unspeakable
from core.tools.place import Place
from core.tools.seen import digest
from core.tools.tool import Change, Result, Tool
from core.workspace.thread import to_its_end


@dataclass(frozen=True, slots=True)
class Write:
    path: str
    content: str


async def run(parameters: Write, place: Place) -> Result:
    return await to_its_end(_write, parameters, place)


def _write(parameters: Write, place: Place) -> Result:
    refuse_unspeakable(parameters.path)
    after = parameters.content.encode("utf-8", "replace")
    done = place.broker.write(parameters.path, after, protected=bool(place.word.opens))
    what = "Wrote" if done.before is None else "Replaced"
    linked = " The file had another name too, which still holds the old text." if done.names > 1 else ""
    changes = () if done.before == after else (Change(parameters.path, done.before, after, (done.mode, done.mode)),)
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
