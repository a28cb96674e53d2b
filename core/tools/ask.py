"""What `ask_user` takes. The engine itself asks: an answer is a fact, not a tool's result."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.question import Option, Part, Question
from core.tools.says import Says


@dataclass(frozen=True, slots=True)
class AskedOption:
    label: str
    description: str = ""
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    question: Annotated[str, MinLen(1)]
    options: Annotated[tuple[AskedOption, ...], MaxLen(4)] = ()
    free_text: bool = True
    several: bool = False


@dataclass(frozen=True, slots=True)
class AskUser:
    question: Annotated[str, MinLen(1)] = ""
    options: Annotated[tuple[AskedOption, ...], MaxLen(4)] = ()
    free_text: bool = True
    why: str = ""
    several: Annotated[bool, Says("Any number of the options may be chosen.")] = False
    questions: Annotated[
        tuple[AskedQuestion, ...], MaxLen(4), Says("Instead of question: a form of up to four at once.")
    ] = ()
    default: Annotated[str, Says("What you will go on with if nobody answers.")] = ""

    def __post_init__(self) -> None:
        if bool(self.question) == bool(self.questions):
            raise ValueError("give either question or questions")


def question(parameters: AskUser, name: str) -> Question:
    """The question as a fact."""
    given = parameters.questions or (
        AskedQuestion(parameters.question, parameters.options, parameters.free_text, parameters.several),
    )
    parts = tuple(map(_part, given))
    first = parts[0]
    if len(parts) == 1:
        return Question(
            name, first.text, parameters.why, first.options, first.free_text, several=first.several,
            default=parameters.default,
        )  # fmt: skip
    text = parameters.question or f"{first.text} (and {len(parts) - 1} more)"
    return Question(name, text, parameters.why, parts=parts, default=parameters.default)


def _part(asked: AskedQuestion) -> Part:
    options = tuple(Option(o.label, o.description, o.recommended) for o in asked.options)
    return Part(asked.question, options, asked.free_text or not options, asked.several and bool(options))
