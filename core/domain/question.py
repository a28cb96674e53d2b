"""Questions to the user and their answers."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

UnansweredPolicy = Literal["wait", "pause", "default"]  # what happens if a question is not answered in time
AnsweredBy = Literal["user", "earlier_answer", "nobody", "no_questions"]
Autonomy = Literal["cautious", "balanced", "decisive"]

QUESTION_LIMITS: dict[Autonomy, int] = {"cautious": 5, "balanced": 3, "decisive": 1}  # most questions in one run
EDGE_PUNCTUATION = " \t\n.,;:!?…\"'“”‘’()[]"


@dataclass(frozen=True, slots=True)
class QuestionOption:
    """An answer that the user can choose."""

    label: str
    description: str = ""
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One question of a form that asks several at once."""

    text: str
    options: tuple[QuestionOption, ...] = ()
    free_text: bool = True
    multi_select: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the user, or a form of several questions answered together, with `text` as its title.

    Attributes:
        reason: why the agent asks.
        free_text: whether the user may type an answer instead of choosing an option.
        asked_at: the time of the question, in microseconds.
        multi_select: whether more than one option may be chosen.
        sub_questions: the questions of a form; empty for a single question.
        timeout_s: how long the run waits for an answer, in seconds; 0 means forever.
        on_unanswered: what happens after that time.
        default_answer: the answer with which the agent would proceed.
        mcp_server: the MCP server that asks; "" if the agent does.
        url: a page that the MCP server asks the user to open.
    """

    id: str
    text: str
    reason: str = ""
    options: tuple[QuestionOption, ...] = ()
    free_text: bool = True
    asked_at: int = 0
    multi_select: bool = False
    sub_questions: tuple[SubQuestion, ...] = ()
    timeout_s: float = 0.0
    on_unanswered: UnansweredPolicy = "wait"
    default_answer: str = ""
    mcp_server: str = ""
    url: str = ""

    def all_questions(self) -> tuple[SubQuestion, ...]:
        """Return the questions of a form, or the single question as a form of one."""
        only_question = SubQuestion(
            text=self.text, options=self.options, free_text=self.free_text, multi_select=self.multi_select
        )
        return self.sub_questions or (only_question,)


class PendingQuestion(NamedTuple):
    """A question that waits for the user's answer, and its session."""

    session: str
    question: Question


@dataclass(frozen=True, slots=True)
class SubAnswer:
    """The answer to one question of a form."""

    question: str
    options: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: the label of an option, free text, or a refusal to answer.

    `expired` marks an answer that the user did not give, because the time ran out or the question became obsolete;
    `withdrawn` then tells why it did. `more_options` are the labels of further chosen options, and `sub_answers` the
    answers to a form. `answered_by` is `earlier_answer` if the user had already answered the same question in this run,
    and `no_questions` if the run is set to decline all questions.
    """

    option: str = ""
    text: str = ""
    declined: bool = False
    more_options: tuple[str, ...] = ()
    sub_answers: tuple[SubAnswer, ...] = ()
    expired: bool = False
    answered_by: AnsweredBy = "user"
    withdrawn: str = ""


def answer_text(answer: Answer) -> str:
    """Return the text of an answer for the model."""
    if answer.withdrawn:
        return f"[Not answered: {answer.withdrawn}.]"
    if answer.expired:
        default = answer.option or answer.text
        assumed = f" Proceed with your stated default: {default}. The user did not confirm it." if default else ""
        return f"[The user did not answer in time.{assumed}]"
    if answer.answered_by == "no_questions":
        return "[Nobody answers questions in this run. Decide yourself, and say what you assumed.]"
    if answer.declined:
        return "The user declined to answer." + (f" They wrote: {answer.text}" if answer.text else "")
    if answer.sub_answers:
        return "\n".join(
            f"{part.question} {_join(part.options, part.text) or '(no answer)'}" for part in answer.sub_answers
        )
    return _join((answer.option, *answer.more_options), answer.text)


def expired_answer(question: Question) -> Answer:
    """Return the answer to a question whose time ran out: the default answer if the run's policy is to use it.

    It is marked as expired, so that it cannot be mistaken for an answer of the user.
    """
    if question.on_unanswered != "default":
        return Answer(expired=True, answered_by="nobody")
    if any(option.label == question.default_answer for option in question.options):
        return Answer(question.default_answer, expired=True, answered_by="nobody")
    return Answer(text=question.default_answer, expired=True, answered_by="nobody")


def withdrawn_answer(reason: str) -> Answer:
    """Return the answer to a question that became obsolete; `reason` is a clause."""
    return Answer(expired=True, answered_by="nobody", withdrawn=reason)


def is_same_question(first: Question, second: Question) -> bool:
    """Return whether two questions have the same texts and options and allow the same answers.

    Options are the same only if their descriptions are, because these say what choosing one leads to. Case, white
    space and punctuation at the ends are ignored.
    """
    return _comparable(first) == _comparable(second)


def _join(options: tuple[str, ...], text: str) -> str:
    return ": ".join(part for part in (", ".join(filter(None, options)), text) if part)


def _comparable(question: Question) -> list[tuple[object, ...]]:
    return [
        (
            _normalized(part.text),
            sorted((_normalized(option.label), _normalized(option.description)) for option in part.options),
            part.free_text,
            part.multi_select,
        )
        for part in question.all_questions()
    ]


def _normalized(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(EDGE_PUNCTUATION).casefold()


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """A tool call asked the user a question; the run waits for the answer."""

    question: Question
    call_id: str


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """A question was answered, expired or was withdrawn. The answer is also the result of the tool call `call_id`."""

    question_id: str
    call_id: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class QuestionAnswerStarted:
    """The user began to answer a question, so its timeout no longer applies."""

    question_id: str
