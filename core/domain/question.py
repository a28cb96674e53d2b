"""A question to the person and the answer to it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    label: str
    description: str = ""
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    why: str = ""
    options: tuple[Option, ...] = ()
    free_text: bool = True
    asked: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """An option's label, words of one's own, or a decline. Never made up."""

    option: str = ""
    text: str = ""
    declined: bool = False


def spoken(answer: Answer) -> str:
    """What the agent reads."""
    if answer.declined:
        return "The person declined to answer." + (f" They said: {answer.text}" if answer.text else "")
    return ": ".join(part for part in (answer.option, answer.text) if part)
