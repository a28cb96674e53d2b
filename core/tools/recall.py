"""What `recall_dropped` takes. The engine itself answers: what was dropped stands in the journal."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

RECALL = "recall_dropped"
TALK = "talk"
DESCRIPTION = (
    "Read again what was folded or summarised to save room: a result by the id of its call, or with the id "
    f'"{TALK}" the whole talk so far. start and end are lines, from 1.'
)


@dataclass(frozen=True, slots=True)
class Recall:
    id: str
    start: Annotated[int, Ge(1)] = 1
    end: Annotated[int, Ge(0)] = 0


def row(parameters: Recall) -> str:
    """What a person sees of it."""
    what = "the talk" if parameters.id == TALK else parameters.id
    if parameters.start == 1 and not parameters.end:
        return what
    return f"{what} {parameters.start}–{parameters.end or ''}"
