"""What `ask_user` takes. The engine itself asks: an answer is a fact, not a tool's result."""

from dataclasses import dataclass

from core.domain.question import Option, Question


@dataclass(frozen=True, slots=True)
class AskedOption:
    label: str
    description: str = ""
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class AskUser:
    question: str
    options: tuple[AskedOption, ...] = ()
    free_text: bool = True
    why: str = ""


def question(parameters: AskUser, name: str) -> Question:
    """The question as a fact."""
    options = tuple(Option(o.label, o.description, o.recommended) for o in parameters.options[:4])
    return Question(name, parameters.question, parameters.why, options, parameters.free_text or not options)
