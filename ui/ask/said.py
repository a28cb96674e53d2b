"""What a question and a request for consent have in common when they are shown."""

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from core.domain.clock import SECOND
from core.domain.question import Question
from ui.ask.wanted import Wanted, spoken_name, title
from ui.ask.whole_text import one_line
from ui.visible import visible


@dataclass(frozen=True, slots=True)
class Said:
    """`kind` begins the names of its parts; `bar` is what one line has room for; `place` is its place in the queue."""

    id: str
    kind: str
    icon: str
    title: str
    why: str
    bar: str
    spoken: str
    asked: int
    place: str = ""
    until: int = 0
    then: str = ""

    @property
    def head(self) -> str:
        """The name of the label with the title; `text` of a consent is its act."""
        return f"{self.kind}.{'text' if self.kind == 'question' else 'title'}"


def of_question(question: Question) -> Said:
    text, server = visible(question.text), question.server
    asks = _tr("The tool server {} asks: {}").format(server, text) if server else ""
    spoken = asks or _tr("Question: {}").format(text)
    return Said(
        question.id, "question", "circle-question-mark", text, visible(question.why), text, spoken, question.asked,
        _tr("tool server {}").format(server) if server else "", _until(question), _then(question),
    )  # fmt: skip


def of_consent(wanted: Wanted, place: str = "") -> Said:
    head = title(wanted.request)
    bar = f"{head} {one_line(wanted.request.object)}"
    spoken = _tr("Consent: {}").format(spoken_name(wanted))
    return Said(wanted.id, "consent", "shield-question-mark", head, "", bar, spoken, wanted.asked, place)


def place_in_queue(number: int, count: int) -> str:
    """`1 of 2`, where there is more than one."""
    return _tr("{} of {}").format(number, count) if count > 1 else ""


def _until(question: Question) -> int:
    return question.asked + int(question.expires_s * SECOND) if question.expires_s > 0 else 0


def _then(question: Question) -> str:
    if question.then == "default":
        return _tr("it goes on with “{}”").format(one_line(question.default))
    return _tr("the run pauses")


def _tr(text: str) -> str:
    return QCoreApplication.translate("asking", text)
