"""Questions for the tests, from a typical one to one that is far too long."""

from datetime import datetime

from core.domain.clock import SECOND
from core.domain.question import Question, QuestionOption

NOON = int(datetime(2026, 11, 20, 12, 0).astimezone().timestamp()) * SECOND
TONE = Question(
    "q1",
    "Which tone should the letter take?",
    "The draft is ready.",
    (
        QuestionOption("Firm, with a deadline", "Names the Act and the next step.", recommended=True),
        QuestionOption("Friendly first reminder", "No deadline."),
        QuestionOption("Formal notice"),
    ),
    asked_at=NOON - 2 * 60 * SECOND,
)
LONG = Question(
    "q2",
    "Which of these should it be? " * 6,
    "There is a lot to say about it. " * 40,
    tuple(QuestionOption(f"Option {number}", "with many words to it " * 12) for number in range(1, 12)),
    asked_at=NOON,
)
OPEN = Question("q3", "What is the landlord's name?", asked_at=NOON)
CLOSED = Question("q4", "Go on?", options=(QuestionOption("Yes"), QuestionOption("No")), free_text=False, asked_at=NOON)
MARKUP = Question(
    "q5",
    "<b>bold</b>?",
    "<img src='file:///etc/hostname'>",
    (QuestionOption("<i>one</i>", "<u>two</u>"),),
    asked_at=NOON,
)


def noon() -> int:
    """A clock that always returns noon."""
    return NOON
