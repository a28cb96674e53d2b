"""Checks that the user's answer is one that the question allows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from core.domain.problems import Problem
from core.domain.question import Answer, Question, QuestionOption, SubAnswer, SubQuestion


class _Choice(NamedTuple):
    """The labels of the chosen options, and the free text."""

    options: tuple[str, ...]
    text: str


def checked_answer(question: Question, answer: Answer) -> Answer:
    """Return the answer; if its text equals the label of an option, as the choice of that option.

    Case is ignored. Raise Problem if the answer is empty, or is not an option although the question allows nothing
    else. Answers to MCP servers are not checked here, but by the server, which asks again.
    """
    if question.mcp_server or answer.declined or answer.expired:
        return answer
    if question.sub_questions:
        return _checked_form(question.sub_questions, answer)
    [only_question] = question.all_questions()
    choice = _choice(only_question, tuple(filter(None, (answer.option, *answer.more_options))), answer.text)
    if not choice.options and not choice.text.strip():
        raise Problem("The answer is empty.", "", "Type an answer, or decline to answer.")
    option, more_options = (choice.options[0], choice.options[1:]) if choice.options else ("", ())
    return replace(answer, option=option, more_options=more_options, text=choice.text)


def _checked_form(questions: Sequence[SubQuestion], answer: Answer) -> Answer:
    """Check the answers to a form. A text with as many lines as there are questions answers them one by one."""
    given = answer.sub_answers
    lines = answer.text.splitlines()
    if not given and len(lines) == len(questions):
        given = tuple(
            SubAnswer(question.text, (), line.strip()) for question, line in zip(questions, lines, strict=True)
        )
    if not given:
        if not all(question.free_text for question in questions):
            raise Problem("Some of these questions take one of their options.", "", "Give one line per question.")
        return answer
    asked = {question.text: question for question in questions}
    checked = []
    for part in given:
        choice = _choice(asked.get(part.question, SubQuestion(part.question)), part.options, part.text)
        checked.append(replace(part, options=choice.options, text=choice.text))
    return replace(answer, text="", sub_answers=tuple(checked))


def _choice(question: SubQuestion, options: Sequence[str], text: str) -> _Choice:
    """Return a choice with the labels as in the question; raise Problem if the question does not allow it."""
    labels = {option.label.casefold(): option.label for option in question.options}
    if not options and text.strip().casefold() in labels:
        options, text = (text.strip(),), ""
    if unknown := [option for option in options if option.casefold() not in labels]:
        raise _not_allowed(f"{unknown[0]!r} is not one of the options.", question.options)
    if text.strip() and not question.free_text:
        raise _not_allowed("This question takes one of its options.", question.options)
    return _Choice(tuple(labels[option.casefold()] for option in options), text)


def _not_allowed(message: str, options: Sequence[QuestionOption]) -> Problem:
    return Problem(message, f"They are: {', '.join(option.label for option in options)}.", "Choose one of them.")
