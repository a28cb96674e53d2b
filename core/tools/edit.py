"""Replace one piece of a text file, which must stand there exactly once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from annotated_types import MinLen

from core.domain.problems import Problem
from core.tools.files import LIMIT, look, put
from core.tools.lines import decode, with_ends_of
from core.tools.place import Place
from core.tools.says import Says
from core.tools.seen import digest, refuse_unseen, same_name
from core.tools.tool import Change, Result, Tool
from core.workspace.thread import to_its_end


@dataclass(frozen=True, slots=True)
class Edit:
    path: str
    old: Annotated[str, MinLen(1), Says("The text as it stands, exactly, found once in the file.")]
    new: Annotated[str, Says("What stands there afterwards.")]


@dataclass(frozen=True, slots=True)
class SeenEdit:
    """An edit with the digest of the contents this session knows; empty when it has not read the file."""

    edit: Edit
    mark: str = ""


def knowing(parameters: Edit, seen: Mapping[str, str]) -> SeenEdit:
    return SeenEdit(parameters, seen.get(same_name(parameters.path), ""))


async def run(parameters: Edit | SeenEdit, place: Place) -> Result:
    known = parameters if isinstance(parameters, SeenEdit) else SeenEdit(parameters)
    return await to_its_end(_edit, known.edit, known.mark, place)


def _edit(parameters: Edit, mark: str, place: Place) -> Result:
    before = look(place, parameters.path)
    refuse_unseen(parameters.path, before, mark)
    after = replaced(decode(before, parameters.path), parameters).encode()
    if len(after) > LIMIT:
        raise Problem(f"{parameters.path} would be too large.", f"{len(after):,} bytes; {LIMIT:,} can be edited.")
    modes = put(place, parameters.path, after)
    return Result(
        f"Edited {parameters.path}.",
        changes=(Change(parameters.path, before, after, modes),),
        seen=((parameters.path, digest(after)),),
    )


def replaced(text: str, parameters: Edit) -> str:
    """The text after the edit; refused when it is not plain which place is meant."""
    old, new = with_ends_of(text, parameters.old), with_ends_of(text, parameters.new)
    if old == new:
        raise Problem("Nothing would change.", "old and new are the same.", "Say what should stand there.")
    first = text.find(old)
    if first < 0:
        raise Problem(f"That text does not stand in {parameters.path}.", _nearest(text, old), "Copy it exactly.")
    if (second := text.find(old, first + 1)) >= 0:
        places = f"Lines {text.count(chr(10), 0, first) + 1} and {text.count(chr(10), 0, second) + 1} have it"
        raise Problem(
            f"That text stands in {parameters.path} more than once.", f"{places}.", "Give more of its surroundings."
        )
    return text[:first] + new + text[first + len(old) :]


def _nearest(text: str, old: str) -> str:
    """Where the first line of the wanted text is, apart from its blanks."""
    wanted = next((line.strip() for line in old.splitlines() if line.strip()), "")
    for number, line in enumerate(text.splitlines(), 1):
        if wanted and line.strip() == wanted:
            return f"Line {number} begins like it: {line[:200]!r}."
    return ""


EDIT = Tool(
    name="edit",
    description="Replace a piece of a text file that you have read. old must stand there exactly once.",
    parameters=Edit,
    kind="edit",
    touches="writes",
    object=lambda parameters: str(parameters.path),
    run=run,
    knowing=knowing,
)
