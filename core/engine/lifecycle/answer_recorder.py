"""Records the user's answers to questions as events. The waiting run picks them up in `RunContext.ask`."""

from dataclasses import dataclass

from core.domain.answer_check import checked_answer
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAnswered, QuestionAnswerStarted
from core.store.journal import Journal
from core.store.reader import Reader


@dataclass(frozen=True, slots=True)
class AnswerRecorder:
    """Records each answer exactly once.

    `claimed` holds the IDs of the questions that the user or a timeout is answering right now.
    """

    journal: Journal
    reader: Reader
    claimed: set[str]

    async def answer(self, question: str, answer: Answer) -> str:
        """Record the answer and return the session of the question.

        Raise Problem if the question is not open or does not allow this answer.
        """
        origin = self.reader.question_origin(question)
        if origin is None or question in self.claimed:
            raise Problem(
                f"The question {question} is not open.",
                "It has already been answered, or its run has ended.",
                "List the open questions with `journeyman pending`.",
            )
        pending = (asked.question for asked in self.reader.questions())
        asked = next((candidate for candidate in pending if candidate.id == question), None)
        answer = checked_answer(asked, answer) if asked else answer
        self.claimed.add(question)
        try:
            session, call = origin
            await self.journal.append(session, QuestionAnswered(question, call, answer))
        finally:
            self.claimed.discard(question)
        return session

    async def start_answering(self, question: str) -> None:
        """Remove the time limit of a question, because the user has begun to answer it. Ignore unknown questions."""
        if origin := self.reader.question_origin(question):
            await self.journal.append(origin.session, QuestionAnswerStarted(question))
