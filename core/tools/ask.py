"""What `ask_user` takes. The engine itself asks: an answer is a fact, not a tool's result."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.question import Option, Question


@dataclass(frozen=True, slots=True)
class AskedOption:
    label: str
    description: str = ""
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class AskUser:
    question: Annotated[str, MinLen(1)]
    options: Annotated[tuple[AskedOption, ...], MaxLen(4)] = ()
    free_text: bool = True
    why: str = ""


def question(parameters: AskUser, name: str) -> Question:
    """The question as a fact."""
    options = tuple(Option(o.label, o.description, o.recommended) for o in parameters.options)
    return Question(name, parameters.question, parameters.why, options, parameters.free_text or not options)
