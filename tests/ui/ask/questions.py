"""Questions for the tests: one of the usual kind, one that is far too long."""

from datetime import datetime

from core.domain.clock import SECOND
from core.domain.question import Option, Question

NOON = int(datetime(2026, 11, 20, 12, 0).astimezone().timestamp()) * SECOND
TONE = Question(
    "q1",
    "Which tone should the letter take?",
    "The draft is ready.",
    (
        Option("Firm, with a deadline", "Names the Act and the next step.", recommended=True),
        Option("Friendly first reminder", "No deadline."),
        Option("Formal notice"),
    ),
    asked=NOON - 2 * 60 * SECOND,
)
LONG = Question(
    "q2",
    "Which of these should it be? " * 6,
    "There is a lot to say about it. " * 40,
    tuple(Option(f"Option {number}", "with many words to it " * 12) for number in range(1, 12)),
    asked=NOON,
)
OPEN = Question("q3", "What is the landlord's name?", asked=NOON)
CLOSED = Question("q4", "Go on?", options=(Option("Yes"), Option("No")), free_text=False, asked=NOON)
MARKUP = Question(
    "q5", "<b>bold</b>?", "<img src='file:///etc/hostname'>", (Option("<i>one</i>", "<u>two</u>"),), asked=NOON
)


def noon() -> int:
    """A clock that stands."""
    return NOON
