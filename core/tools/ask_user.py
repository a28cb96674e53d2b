"""The parameters of the `ask_user` tool. The engine executes its calls, because it has to record and await answers."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import MaxLen, MinLen

from core.domain.question import Question, QuestionOption, SubQuestion
from core.tools.parameter_description import ParameterDescription


@dataclass(frozen=True, slots=True)
class OptionArguments:
    label: Annotated[str, ParameterDescription("1 to 5 words.")]
    description: Annotated[str, ParameterDescription("What it means or leads to.")] = ""
    recommended: Annotated[bool, ParameterDescription("Your recommendation.")] = False


@dataclass(frozen=True, slots=True)
class QuestionArguments:
    question: Annotated[str, MinLen(1), ParameterDescription("The question.")]
    options: Annotated[tuple[OptionArguments, ...], MaxLen(4), ParameterDescription("Answers to choose from.")] = ()
    free_text: Annotated[bool, ParameterDescription("Allow other answers.")] = True
    multi_select: Annotated[bool, ParameterDescription("Allow more than one option.")] = False

    def __post_init__(self) -> None:
        _check_labels(self.options)


@dataclass(frozen=True, slots=True)
class AskUserArguments:
    question: Annotated[str, MinLen(1), ParameterDescription("The question.")] = ""
    options: Annotated[tuple[OptionArguments, ...], MaxLen(4), ParameterDescription("Answers to choose from.")] = ()
    free_text: Annotated[bool, ParameterDescription("Allow other answers.")] = True
    why: Annotated[str, ParameterDescription("What depends on the answer.")] = ""
    multi_select: Annotated[bool, ParameterDescription("Allow more than one option.")] = False
    questions: Annotated[
        tuple[QuestionArguments, ...],
        MaxLen(4),
        ParameterDescription("Up to four questions at once, instead of question."),
    ] = ()
    default: Annotated[str, ParameterDescription("The answer you assume if nobody replies.")] = ""

    def __post_init__(self) -> None:
        if bool(self.question) == bool(self.questions):
            raise ValueError("give either question or questions")
        _check_labels(self.options)


def to_question(parameters: AskUserArguments, name: str) -> Question:
    """Return the question to record in the event log, with the ID `name`."""
    only_question = QuestionArguments(
        question=parameters.question,
        options=parameters.options,
        free_text=parameters.free_text,
        multi_select=parameters.multi_select,
    )
    parts = tuple(map(_part, parameters.questions or (only_question,)))
    first = parts[0]
    if len(parts) == 1:
        return Question(
            name,
            first.text,
            parameters.why,
            options=first.options,
            free_text=first.free_text,
            multi_select=first.multi_select,
            default_answer=parameters.default,
        )
    text = parameters.question or f"{first.text} (and {len(parts) - 1} more)"
    return Question(name, text, parameters.why, sub_questions=parts, default_answer=parameters.default)


def _check_labels(options: tuple[OptionArguments, ...]) -> None:
    """Raise ValueError for an empty label or two equal labels, because an answer names an option by its label."""
    labels = [option.label.strip().casefold() for option in options]
    if "" in labels or len(set(labels)) < len(labels):
        raise ValueError("give each option a label of its own")


def _part(question: QuestionArguments) -> SubQuestion:
    options = tuple(QuestionOption(each.label, each.description, each.recommended) for each in question.options)
    return SubQuestion(
        question.question,
        options,
        free_text=question.free_text or not options,
        multi_select=question.multi_select and bool(options),
    )
