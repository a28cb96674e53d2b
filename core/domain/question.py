"""A question to the person, or a form of several, and the answer to it."""

import re
from dataclasses import dataclass
from typing import Literal

Unanswered = Literal["wait", "pause", "default"]  # what becomes of a question nobody answers in time
By = Literal["person", "record", "nobody"]
Autonomy = Literal["cautious", "balanced", "decisive"]

CAPS: dict[Autonomy, int] = {"cautious": 5, "balanced": 3, "decisive": 1}  # questions of one run
EDGES = " \t\n.,;:!?…\"'“”‘’()[]"


@dataclass(frozen=True, slots=True)
class Option:
    label: str
    description: str = ""
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One question of a form. With `several` any number of its options may be chosen, `optional` needs no answer."""

    text: str
    options: tuple[Option, ...] = ()
    free_text: bool = True
    several: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """`parts` are the questions of a form, which is answered at once; then `text` names it.

    `expires_s` is how long it waits, 0 for ever; `then` what happens after that; `default` the answer that the agent
    said it would go on with.
    """

    id: str
    text: str
    why: str = ""
    options: tuple[Option, ...] = ()
    free_text: bool = True
    asked: int = 0
    several: bool = False
    parts: tuple[Part, ...] = ()
    expires_s: float = 0.0
    then: Unanswered = "wait"
    default: str = ""
    server: str = ""
    url: str = ""

    def forms(self) -> tuple[Part, ...]:
        """Its questions, also where there is only one."""
        return self.parts or (Part(self.text, self.options, self.free_text, self.several),)


@dataclass(frozen=True, slots=True)
class Said:
    """The answer to one question of a form."""

    asked: str
    options: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An option's label, words of one's own, or a decline. Never made up: one that nobody gave is `expired`.

    `more` are further options that were chosen, `parts` the answers of a form. `by` is who answered: the record where
    the same was asked and answered before in this run. `withdrawn` is why nobody wants to know any more.
    """

    option: str = ""
    text: str = ""
    declined: bool = False
    more: tuple[str, ...] = ()
    parts: tuple[Said, ...] = ()
    expired: bool = False
    by: By = "person"
    withdrawn: str = ""


def spoken(answer: Answer) -> str:
    """What the agent reads."""
    if answer.withdrawn:
        return f"[Not answered: {answer.withdrawn}.]"
    if answer.expired:
        default = answer.option or answer.text
        stands = f" The default that was stated holds: {default}. No person said so." if default else ""
        return f"[Nobody answered in time.{stands}]"
    if answer.declined:
        return "The person declined to answer." + (f" They said: {answer.text}" if answer.text else "")
    if answer.parts:
        return "\n".join(f"{part.asked} {_words(part.options, part.text) or '(no answer)'}" for part in answer.parts)
    return _words((answer.option, *answer.more), answer.text)


def expired(question: Question) -> Answer:
    """Nobody answered in time. Where the run said so, the stated default stands, and it is not passed off as a word."""
    if question.then != "default":
        return Answer(expired=True, by="nobody")
    if any(option.label == question.default for option in question.options):
        return Answer(question.default, expired=True, by="nobody")
    return Answer(text=question.default, expired=True, by="nobody")


def withdrawn(why: str) -> Answer:
    """Nobody answered, and nobody wants to know any more."""
    return Answer(expired=True, by="nobody", withdrawn=why)


def same_question(one: Question, other: Question) -> bool:
    """Asked again in other blanks, letters or marks, with the same to choose from?"""
    return _asked(one) == _asked(other)


def _words(options: tuple[str, ...], text: str) -> str:
    return ": ".join(part for part in (", ".join(filter(None, options)), text) if part)


def _asked(question: Question) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (_plain(part.text), tuple(sorted(_plain(option.label) for option in part.options))) for part in question.forms()
    ]


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(EDGES).casefold()


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    question: Question
    call_id: str


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """Also the result of the call that asked."""

    question_id: str
    call_id: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class QuestionHeld:
    """Somebody has begun to answer: from here on it waits, however little time it had."""

    question_id: str
